// StatusBoard: what the relay's thread tells the others.
//
// The relay publishes a snapshot when something changed, and beats the heart each turn; HTTP
// handlers and the sampler read. Safe on any thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "walrelay/clock.h"
#include "walrelay/lsn.h"

namespace walrelay {

enum class RelayState : uint8_t {
  kStarting,    // not yet streamed
  kStandby,     // another instance holds the slot
  kCatchingUp,  // streaming, behind
  kStreaming,
  kDegraded,  // cut off from Postgres or from Kafka; tries again by itself
  kBlocked,   // the line stands at something that a person must settle
  kDraining,
  kStopped,
};

std::string_view NameOf(RelayState state);
// Whether an orchestrator should take the instance for a good one.
bool IsReady(RelayState state);

struct RelayStatus {
  RelayState state = RelayState::kStarting;
  absl::Status error;  // why it is not well; OK when it is
  std::string detail;  // which row, which topic
};

class StatusBoard {
 public:
  void Publish(RelayStatus status) {
    const std::lock_guard lock(mutex_);
    status_ = std::move(status);
  }
  RelayStatus Read() const {
    const std::lock_guard lock(mutex_);
    return status_;
  }

  // What the sampler found wrong with the publication or a table; OK when nothing is.
  void SetSourceProblem(const absl::Status& problem) {
    const std::lock_guard lock(mutex_);
    source_problem_ = problem;
  }
  absl::Status source_problem() const {
    const std::lock_guard lock(mutex_);
    return source_problem_;
  }

  void Beat(MonoTime now) {
    heartbeat_.store(now.time_since_epoch().count(), std::memory_order_relaxed);
  }
  MonoTime last_beat() const {
    return MonoTime(Micros(heartbeat_.load(std::memory_order_relaxed)));
  }

 private:
  mutable std::mutex mutex_;
  RelayStatus status_;           // guarded by mutex_
  absl::Status source_problem_;  // guarded by mutex_
  std::atomic<int64_t> heartbeat_{0};
};

}  // namespace walrelay
