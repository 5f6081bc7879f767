// A pipeline on its own thread, with a runner that a test controls.
#include "daemon/pipeline_thread.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>

#include <atomic>

#include "fakes/fake_clock.h"
#include "fakes/fake_runner.h"
#include "fakes/sole_metrics.h"
#include "fakes/status_matchers.h"
#include "walrelay/config.h"

namespace walrelay {
namespace {

using testing::FakeRunner;
using ::testing::HasSubstr;

class PipelineThreadTest : public ::testing::Test {
 protected:
  absl::StatusOr<std::unique_ptr<RunningPipeline>> Start() {
    const RunnerMaker make =
        [this](const PipelineHost&,
               RunnerParts parts) -> absl::StatusOr<std::unique_ptr<PipelineRunner>> {
      handover_ = parts.handover;
      if (!error_.ok()) {
        return error_;
      }
      return std::make_unique<FakeRunner>(script_);
    };
    return StartPipelineThread({.clock = clock_, .observer = {}}, make,
                               {.name = "a",
                                .config = std::make_shared<const Config>(),
                                .board = board_,
                                .metrics = metrics_,
                                .handover = given_,
                                .on_end = [this] { end_called_ = true; }});
  }
  static void WaitForEnd(const RunningPipeline& pipeline) {
    while (!pipeline.ended()) {
      ::sched_yield();
    }
  }

  testing::FakeClock clock_;
  const std::shared_ptr<StatusBoard> board_ = std::make_shared<StatusBoard>();
  const std::shared_ptr<testing::SoleMetrics> metrics_ = std::make_shared<testing::SoleMetrics>();
  const std::shared_ptr<const Handover> given_ = std::make_shared<const Handover>();
  FakeRunner::Script script_;
  absl::Status error_;
  std::shared_ptr<const Handover> handover_;
  std::atomic<bool> end_called_{false};
};

TEST_F(PipelineThreadTest, RequestDrainsAndTheResultIsKept) {
  script_.turns_to_drain = 1;
  script_.result = Error(ErrorCode::kSlotGone, "x");
  script_.clients_closed = false;
  auto pipeline = Start();
  ASSERT_THAT(pipeline, IsOk());
  EXPECT_EQ(board_->last_beat(), clock_.Now());
  EXPECT_THAT(metrics_->Text(), HasSubstr("walrelay_build_info{"));
  (*pipeline)->RequestStop();
  WaitForEnd(**pipeline);
  EXPECT_THAT((*pipeline)->result(), HasError(ErrorCode::kSlotGone));
  EXPECT_NE((*pipeline)->handover(), nullptr);
  EXPECT_FALSE((*pipeline)->WaitForClients(Micros(0)));
  pipeline->reset();  // the thread has ended, and with it its last action
  EXPECT_TRUE(end_called_);
}

TEST_F(PipelineThreadTest, RunnerGetsWhatItsPredecessorHandsOver) {
  script_.turns_until_end = 1;
  ASSERT_THAT(Start(), IsOk());
  EXPECT_EQ(handover_, given_);
}

TEST_F(PipelineThreadTest, DestructionEndsItAtOnce) {
  script_.turns_to_drain = -1;
  auto pipeline = Start();
  ASSERT_THAT(pipeline, IsOk());
  pipeline->reset();
  EXPECT_EQ(script_.calls.back(), "stop");
}

TEST_F(PipelineThreadTest, InvalidConfigurationStartsNoThread) {
  error_ = Error(ErrorCode::kConfigValue, "x");
  EXPECT_THAT(Start(), HasError(ErrorCode::kConfigValue));
  EXPECT_FALSE(end_called_);
}

}  // namespace
}  // namespace walrelay
