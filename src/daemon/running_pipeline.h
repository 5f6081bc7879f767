// RunningPipeline: a pipeline of this process, as the supervisor sees it.
//
// Threads: the supervisor's thread calls every method; the pipeline runs on threads of its own.
// Destroying it before it has ended stops it at once, confirms nothing, and waits for its threads.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "metrics/metrics.h"
#include "runner/pipeline_runner.h"
#include "status/status_board.h"
#include "walrelay/pipeline_identity.h"

namespace walrelay {

struct Config;

class RunningPipeline {
 public:
  virtual ~RunningPipeline() = default;

  // The first request drains, the second one stops at once. Never blocks.
  virtual void RequestStop() = 0;
  // Whether its thread has ended; it stays true.
  virtual bool ended() const = 0;
  // Why it ended: OK after a drain, kAborted after a second request. REQUIRES: ended().
  virtual const absl::Status& result() const = 0;
  // Tells its successor what it knows of the source. REQUIRES: ended().
  virtual std::shared_ptr<const Handover> handover() const = 0;
  // Waits until the clients of its sink are closed, at most `timeout`. False: the threads of some
  // still run. REQUIRES: ended().
  virtual bool WaitForClients(Micros timeout) = 0;
};

// The configuration and the shared objects of a pipeline that starts.
struct PipelineStart {
  std::string name;
  std::shared_ptr<const Config> config;  // not null
  PipelineIdentity identity;
  std::shared_ptr<StatusBoard> board;
  std::shared_ptr<Metrics> metrics;
  std::shared_ptr<const Handover> handover;  // of the pipeline that it replaces; nullptr: none
  std::function<void()> on_end;              // called on the pipeline's thread, as its last action
};

// Errors: those of an invalid configuration; nothing was started then.
using PipelineStarter =
    std::function<absl::StatusOr<std::unique_ptr<RunningPipeline>>(PipelineStart)>;

}  // namespace walrelay
