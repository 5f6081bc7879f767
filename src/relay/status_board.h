// StatusBoard: what the relay's thread tells the others.
//
// The relay publishes its status, its errors and a point of history now and then, and beats the
// heart each turn; the sampler adds what it sees; HTTP handlers read. Safe on any thread. Memory is
// bounded: an hour of history, a handful of errors.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "relay/error_history.h"
#include "walrelay/clock.h"
#include "walrelay/lsn.h"
#include "walrelay/slot_sample.h"

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

struct RelayFigures {
  uint64_t acknowledged = 0;  // events, in the life of the process
  uint64_t records_in_flight = 0;
  uint64_t bytes_in_flight = 0;
  uint64_t transactions_in_flight = 0;
  std::optional<WallTime> oldest_commit;  // of what is not acknowledged
  std::optional<WallTime> last_acknowledged;
  Lsn received;
  Lsn frontier;
};

struct RelayStatus {
  RelayState state = RelayState::kStarting;
  absl::Status error;     // why it is not well; OK when it is
  std::string detail;     // which row, which topic
  WallTime since;         // when it came to this state
  std::string waits_for;  // what has to come before it goes on; "" when nothing has to
  RelayFigures figures;
};

// Where the time from commit to acknowledgement went; medians.
struct StageMedians {
  Micros postgres{0};  // until it was sent
  Micros relay{0};     // the network too
  Micros kafka{0};
};

// What happened between two points of the history.
struct HistoryPoint {
  WallTime at;  // the end of it
  Micros span{0};
  uint64_t events = 0;            // acknowledged
  std::optional<Micros> median;   // from commit to acknowledgement; absent without an event
  std::optional<Micros> slowest;  // 99 of 100 were faster
  std::optional<StageMedians> stages;
  std::optional<uint64_t> lag_bytes;  // at the end of it, as the sampler saw it last
};

// All that there is to see, of one moment.
struct StatusSnapshot {
  RelayStatus relay;
  absl::Status source_problem;
  std::optional<SlotSample> slot;
  std::vector<PastError> errors;      // the latest first
  std::vector<HistoryPoint> history;  // the oldest first; an hour at most
};

// Whether state, publication and slot are as they should be.
bool IsReady(const StatusSnapshot& snapshot);

class StatusBoard {
 public:
  void Publish(RelayStatus status) {
    const std::lock_guard lock(mutex_);
    shown_.relay = std::move(status);
  }
  RelayStatus Read() const {
    const std::lock_guard lock(mutex_);
    return shown_.relay;
  }

  // What the sampler found wrong with the publication or a table; OK when nothing is.
  void SetSourceProblem(const absl::Status& problem) {
    const std::lock_guard lock(mutex_);
    shown_.source_problem = problem;
  }
  absl::Status source_problem() const {
    const std::lock_guard lock(mutex_);
    return shown_.source_problem;
  }

  // What the sampler found at its last look at the slot; nullopt before the first.
  void SetSlot(const SlotSample& sample) {
    const std::lock_guard lock(mutex_);
    shown_.slot = sample;
  }
  std::optional<SlotSample> slot() const {
    const std::lock_guard lock(mutex_);
    return shown_.slot;
  }

  // REQUIRES: !error.ok().
  void NoteError(const absl::Status& error, WallTime now);
  void AddPoint(HistoryPoint point);

  StatusSnapshot Snapshot() const;
  bool ready() const {
    const std::lock_guard lock(mutex_);
    return IsReady(shown_);
  }

  void Beat(MonoTime now) {
    heartbeat_.store(now.time_since_epoch().count(), std::memory_order_relaxed);
  }
  MonoTime last_beat() const {
    return MonoTime(Micros(heartbeat_.load(std::memory_order_relaxed)));
  }

 private:
  mutable std::mutex mutex_;
  // All guarded by mutex_. Errors and history of shown_ are put in when it is asked for.
  StatusSnapshot shown_;
  ErrorHistory errors_;
  std::deque<HistoryPoint> history_;
  std::atomic<int64_t> heartbeat_{0};
};

}  // namespace walrelay
