// PipelineRunner: one run of a pipeline, whatever kind of source it has.
//
// The daemon knows a pipeline by this interface only. A kind of source has one implementation,
// which assembles the source, the relay and what observes them: MakeWalRunner() for a replication
// slot.
//
// Threads: one thread calls Start(), Turn(), Drain(), finished(), result() and Stop(): the
// pipeline's. The others may be called from another thread after Stop() has returned.
#pragma once

#include <functional>
#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/stop_request.h"
#include "metrics/metrics.h"
#include "status/status_board.h"
#include "walrelay/clock.h"
#include "walrelay/sink.h"

namespace walrelay {

struct Config;

// Passes what a run knows of its source to the run that follows it in the same process, after a
// change of the configuration. Only the kind of runner that made it can read it.
class Handover {
 public:
  virtual ~Handover() = default;
};

class PipelineRunner {
 public:
  // Without Drain(), nothing more is confirmed.
  virtual ~PipelineRunner() = default;

  // Starts the threads that work beside the turns. Call it once, before the first Turn().
  virtual void Start() = 0;
  // Runs one turn, and then sleeps until there is more to do, or a stop is requested. An error that
  // ends the run is its result().
  virtual void Turn() = 0;
  // Nothing new is begun, and the run finishes when nothing is left to wait for. Takes effect in
  // the next turn.
  virtual void Drain() = 0;
  // Whether it has ended; it stays true. Turn() must not be called any more.
  virtual bool finished() const = 0;
  // Why it has finished: OK after a drain.
  virtual const absl::Status& result() const = 0;
  // Ends the threads of Start(), and waits for them. Call it once, after the last Turn(), whether
  // or not the run has finished.
  virtual void Stop() = 0;

  // Returns what this run knows of its source, for the one that follows. REQUIRES: finished(), and
  // Stop() was called.
  virtual std::shared_ptr<const Handover> handover() const = 0;
  // Waits until the clients of its sink are closed, at most `timeout`. False: the threads of some
  // still run. REQUIRES: Stop() was called.
  virtual bool WaitForClients(Micros timeout) = 0;
};

// Called for each acknowledged event, with the time of its commit, on the pipeline's thread.
using DeliveryObserver = std::function<void(const Delivery&, WallTime commit_time)>;

// The parts that the pipelines of a process share. The references must outlive the pipelines.
struct PipelineHost {
  const Clock& clock;
  DeliveryObserver observer;  // may be empty
  // The delay of the first sample of the slots. Where many pipelines start at a time, they wait for
  // the CPU of the server, and the first sample of a connection needs as much of it as a start.
  Micros first_sample{0};
};

// The parts of one run.
struct RunnerParts {
  std::shared_ptr<const Config> config;      // not null, validated
  std::shared_ptr<StatusBoard> board;        // not null
  std::shared_ptr<Metrics> metrics;          // not null
  std::shared_ptr<const Handover> handover;  // of the run before this one; nullptr: none
  // Its descriptor interrupts what blocks a turn. Must outlive the runner, which takes no request.
  const StopRequest& stop;
};

// Makes a runner; nothing is connected, and no thread runs, before Start(). Errors: an invalid
// configuration. `host` is used during the call only, except for its clock.
using RunnerMaker = std::function<absl::StatusOr<std::unique_ptr<PipelineRunner>>(
    const PipelineHost& host, RunnerParts parts)>;

// Runs it from Start() to Stop(), and returns its result. The first request of `stop` drains it.
// kAborted: a second request has ended it, and what was not confirmed is read again by the next
// run.
absl::Status RunToEnd(PipelineRunner& runner, StopRequest& stop);

}  // namespace walrelay
