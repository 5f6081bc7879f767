// PruneThread: prunes the outbox tables at intervals, on a thread and a connection of its own.
//
// It never competes with the relay: it pauses while the slot is at risk or lags, and stops at once
// on request. It changes a row only with the proof of a relay that streams now.
#pragma once

#include <functional>
#include <optional>

#include "absl/status/status.h"
#include "base/worker_thread.h"
#include "metrics/metrics.h"
#include "prune/prune_status.h"
#include "stream/published_proof.h"
#include "walrelay/clock.h"

namespace walrelay {

struct PruneConfig;
struct SourceConfig;

// Whether the instance prunes now.
enum class PrunePermission {
  kYes,
  kPaused,   // the slot leaves little room for more WAL, or lags
  kStandby,  // another instance publishes, and prunes
};

class PruneThread {
 public:
  // Called on the thread; must not block.
  struct Callbacks {
    // See StatusBoard::published().
    std::function<std::optional<PublishedProof>()> published;
    std::function<PrunePermission()> may_prune;
    // After each pass, and each time that none is made. nullopt: nothing to report.
    std::function<void(std::optional<PruneStatus>)> reported;
  };

  // All arguments must outlive it. Starts the thread, unless prune.mode is "off". Its end
  // interrupts a statement that is running.
  PruneThread(const SourceConfig& source, const PruneConfig& prune, const Clock& clock,
              Metrics& metrics, Callbacks callbacks);

 private:
  void Run();
  PruneOutcome Pass();
  void Report(const PruneOutcome& outcome);
  void ReportPartitions(const PartitionChanges& changes);
  void ReportComplete(const PruneCount& count);

  const SourceConfig& source_;
  const PruneConfig& prune_;
  const Clock& clock_;
  Metrics& metrics_;
  Callbacks callbacks_;
  PruneStatus status_;
  WorkerThread worker_;  // last
};

}  // namespace walrelay
