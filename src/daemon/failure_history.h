// FailureHistory: which pipelines have ended the worker process, and what follows.
//
// A pipeline that fails is started again once. If it fails again within an hour, it is isolated: it
// does not run until an operator starts it again, and then has no further attempt within an hour.
// If no pipeline is known to be the cause, all are started again once an hour: nothing could be
// isolated, and the process ends the second time.
//
// Single-threaded, no I/O.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/failure_report.h"
#include "walrelay/clock.h"
#include "walrelay/pipeline_identity.h"

namespace walrelay {

struct PipelineFailure {
  PipelineIdentity pipeline;
  std::string what;        // the last failure, in one line
  uint64_t times = 0;      // since the process started
  bool isolated = false;   // it must not run
  bool is_latest = false;  // it ended the last worker
};

class FailureHistory {
 public:
  // The worker ended with this report. False: no further worker may be started.
  bool OnFailed(FailureReport report, MonoTime now);
  // An operator has started an isolated pipeline again. Ignores others.
  void OnReleased(const PipelineIdentity& pipeline, MonoTime now);

  // Each pipeline that has failed, once.
  std::vector<PipelineFailure> pipelines() const;
  // Whether a worker has ended.
  bool any() const { return !entries_.empty() || unknown_at_.has_value(); }
  // Describes the end of the last worker if no pipeline is known to have caused it; otherwise "".
  const std::string& unknown() const { return unknown_; }

 private:
  struct Entry {
    PipelineFailure failure;
    MonoTime at;  // of the last failure or release
  };

  std::vector<Entry> entries_;  // only what has failed: a few
  std::string unknown_;
  std::optional<MonoTime> unknown_at_;
};

}  // namespace walrelay
