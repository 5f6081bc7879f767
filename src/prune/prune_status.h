// PruneStatus: what pruning has done to the outbox tables, and why it does nothing.
//
// Plain data, produced by PruneThread (src/postgres) and read by status and metrics.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "walrelay/clock.h"

namespace walrelay {

// A partition that was not created, or that is old and was not dropped, with the reason.
struct PartitionProblem {
  std::string partition;
  std::string reason;

  friend bool operator==(const PartitionProblem&, const PartitionProblem&) = default;
};

// Names of partitions.
struct PartitionChanges {
  std::vector<std::string> created;
  std::vector<std::string> dropped;
  std::vector<PartitionProblem> problems;
};

// One pass over all outbox tables. Counts are rows.
struct PruneCount {
  uint64_t pruned = 0;  // deleted or marked; not those of dropped partitions
  uint64_t kept = 0;    // older than prune.keep; nothing proves that they are published
  std::optional<Micros> oldest_kept;  // age of the oldest of these, by the time column
  uint64_t locked = 0;                // statements that met a locked row: left to the next pass
  PartitionChanges partitions;
};

// The result of a pass, which may have ended early.
struct PruneOutcome {
  PruneCount count;
  // False: it ended early, because of an error, a request to pause or to stop, or because the
  // server is not the one of the proof any more.
  bool complete = false;
  absl::Status error;
};

// The state of the process that prunes, for the status report.
struct PruneStatus {
  uint64_t pruned = 0;               // rows, since the process started
  std::optional<WallTime> complete;  // when the last complete pass ended
  PruneCount last;                   // of that pass
  bool paused = false;               // the slot is at risk, lags, or was not sampled yet
  absl::Status error;                // why the last pass failed; OK after one that did not
};

}  // namespace walrelay
