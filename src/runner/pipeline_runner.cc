#include "runner/pipeline_runner.h"

#include "base/log.h"

namespace walrelay {
namespace {

// Requests are taken before the turn, so that the turn acts on them.
absl::Status TakeTurns(PipelineRunner& runner, StopRequest& stop) {
  bool draining = false;
  while (!runner.finished()) {
    while (stop.Take()) {
      // Exits with records in flight and without a last status update.
      if (draining) {
        LogWarning("forced_stop", "second stop request: stopping without waiting; nothing is lost");
        return absl::AbortedError("stopped by a second request");
      }
      draining = true;
      runner.Drain();
    }
    runner.Turn();
  }
  return runner.result();
}

}  // namespace

absl::Status RunToEnd(PipelineRunner& runner, StopRequest& stop) {
  runner.Start();
  absl::Status result = TakeTurns(runner, stop);
  runner.Stop();
  return result;
}

}  // namespace walrelay
