// A runner that finishes as a test decides.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/check.h"
#include "runner/pipeline_runner.h"

namespace walrelay::testing {

// Records its calls. A turn never sleeps.
class FakeRunner final : public PipelineRunner {
 public:
  // The test's part, which outlives the runner.
  struct Script {
    // "start", "turn", "drain", "stop": in order, with a series of turns once.
    std::vector<std::string> calls;
    int turns_until_end = -1;          // negative: it does not finish by itself
    int turns_to_drain = 0;            // after Drain(); negative: never
    StopRequest* requested = nullptr;  // requests a stop in each turn
    absl::Status result;
    bool clients_closed = true;
  };

  explicit FakeRunner(Script& script) : script_(script) {}

  void Start() override { Note("start"); }
  void Turn() override {
    WR_CHECK(!finished(), "a run that has finished takes no turn");
    Note("turn");
    if (script_.requested != nullptr) {
      script_.requested->Request();
    }
    int& left = draining_ ? script_.turns_to_drain : script_.turns_until_end;
    left -= left > 0 ? 1 : 0;
  }
  void Drain() override {
    Note("drain");
    draining_ = true;
  }
  bool finished() const override {
    return script_.turns_until_end == 0 || (draining_ && script_.turns_to_drain == 0);
  }
  const absl::Status& result() const override { return script_.result; }
  void Stop() override { Note("stop"); }
  std::shared_ptr<const Handover> handover() const override {
    return std::make_shared<const Handover>();
  }
  bool WaitForClients(Micros) override { return script_.clients_closed; }

 private:
  void Note(std::string call) {
    if (script_.calls.empty() || script_.calls.back() != call) {
      script_.calls.push_back(std::move(call));
    }
  }

  Script& script_;
  bool draining_ = false;
};

}  // namespace walrelay::testing
