// PruneThread: prunes the outbox tables at intervals, on a thread and a connection of its own.
//
// It never competes with the relay: it pauses while the slot is at risk or lags, and stops at once
// on request. It changes a row only with the proof of a relay that streams now.
#pragma once

#include <functional>
#include <optional>
#include <thread>

#include "absl/status/status.h"
#include "base/unique_fd.h"
#include "metrics/metrics.h"
#include "postgres/prune_query.h"
#include "walrelay/clock.h"
#include "walrelay/config.h"
#include "walrelay/published_proof.h"

namespace walrelay {

// source.dsn and its password, or those of [prune].
SourceConfig PruneLogin(const Config& config);

// What a relay's proof says about the rows of the server that it streams from. nullopt: nothing.
std::optional<PruneProof> ProofForPruning(const std::optional<PublishedProof>& published,
                                          const SourceConfig& source);

class PruneThread {
 public:
  // Called on the thread; must not block.
  struct Callbacks {
    // See StatusBoard::published().
    std::function<std::optional<PublishedProof>()> published;
    // Whether the slot leaves room for more WAL now.
    std::function<bool()> may_prune;
  };

  // All arguments must outlive it. Starts the thread, unless prune.mode is "off".
  PruneThread(const Config& config, const Clock& clock, Metrics& metrics, Callbacks callbacks);
  // Interrupts a statement that is running, and waits for the thread.
  ~PruneThread();

  PruneThread(const PruneThread&) = delete;
  PruneThread& operator=(const PruneThread&) = delete;

 private:
  void Run();
  absl::Status Pass();
  void Report(const absl::Status& status);
  // False: stop.
  bool Rest(Micros duration) const;

  const Config& config_;
  const Clock& clock_;
  Metrics& metrics_;
  Callbacks callbacks_;
  UniqueFd stop_;
  absl::Status reported_;  // the error that was logged last; OK after a pass without one
  uint64_t kept_ = 0;      // rows, as logged last
  std::thread thread_;     // last: starts after all other members are initialized
};

}  // namespace walrelay
