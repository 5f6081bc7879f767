#include "daemon/pipeline_thread.h"

#include <atomic>
#include <thread>
#include <utility>

#include "base/check.h"
#include "base/log.h"
#include "base/stop_request.h"
#include "walrelay/error.h"
#include "walrelay/version.h"

namespace walrelay {
namespace {

class PipelineThread final : public RunningPipeline {
 public:
  PipelineThread(std::unique_ptr<StopRequest> stop, std::unique_ptr<PipelineRunner> runner,
                 PipelineStart start)
      : stop_(std::move(stop)), runner_(std::move(runner)) {
    thread_ = std::thread([this, identity = start.identity, on_end = std::move(start.on_end)] {
      const LogScope scope(identity);
      result_ = RunToEnd(*runner_, *stop_);
      ended_.store(true, std::memory_order_release);
      on_end();
    });
  }

  ~PipelineThread() override {
    stop_->Request();
    stop_->Request();
    thread_.join();
  }

  void RequestStop() override { stop_->Request(); }
  bool ended() const override { return ended_.load(std::memory_order_acquire); }
  const absl::Status& result() const override {
    WR_CHECK(ended(), "a pipeline that runs has no result");
    return result_;
  }
  std::shared_ptr<const Handover> handover() const override {
    WR_CHECK(ended(), "only one run of a pipeline uses what it knows");
    return runner_->handover();
  }
  bool WaitForClients(Micros timeout) override {
    WR_CHECK(ended(), "its last client is closed at its end");
    return runner_->WaitForClients(timeout);
  }

 private:
  const std::unique_ptr<StopRequest> stop_;  // the runner refers to it
  const std::unique_ptr<PipelineRunner> runner_;
  absl::Status result_;
  std::atomic<bool> ended_{false};
  std::thread thread_;  // last: starts after all other members are initialized
};

}  // namespace

// Probes are answered before the first turn.
absl::StatusOr<std::unique_ptr<RunningPipeline>> StartPipelineThread(const PipelineHost& host,
                                                                     const RunnerMaker& make,
                                                                     PipelineStart start) {
  auto stop = std::make_unique<StopRequest>();
  WR_ASSIGN_OR_RETURN(std::unique_ptr<PipelineRunner> runner,
                      make(host, {.config = start.config,
                                  .board = start.board,
                                  .metrics = start.metrics,
                                  .handover = start.handover,
                                  .stop = *stop}));
  start.metrics->build_info[Version()].Set(1);
  start.board->Beat(host.clock.Now());
  return std::make_unique<PipelineThread>(std::move(stop), std::move(runner), std::move(start));
}

}  // namespace walrelay
