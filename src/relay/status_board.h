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
#include "txn/gap.h"
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
  kBlocked,   // nothing is published until a person acts: a row, a setting, a gap
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
  std::optional<WallTime> oldest_commit;  // of what was read and is not acknowledged
  // Since when nothing can be read: what was committed since then is unpublished, and unknown.
  // Absent while streaming, and for a standby.
  std::optional<WallTime> cut_off_since;
  std::optional<WallTime> last_acknowledged;
  Lsn received;
  Lsn frontier;
};

struct RelayStatus {
  RelayState state = RelayState::kStarting;
  absl::Status error;         // why it is not well; OK when it is
  std::string detail;         // which row, which topic
  std::optional<Gap> gap;     // held: nothing is published until an operator accepts it
  bool gap_accepted = false;  // it was, and takes effect at the next look
  absl::Status gap_obstacle;  // what must be fixed before it can be accepted, as of the last look
  uint64_t gap_looks = 0;     // at the source, since it is held
  WallTime since;             // when it came to this state
  std::string waits_for;      // what has to come before it goes on; "" when nothing has to
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

// When the sampler looked, by this host's clock. What it has not seen, or not for a while, is not
// known to be well.
struct SamplerLooks {
  Micros interval = std::chrono::seconds(5);  // as configured
  std::optional<WallTime> slot;               // the last look that succeeded
  std::optional<WallTime> publication;        // likewise
  absl::Status failure;                       // why the last look failed; OK when it did not

  // Whether a look at that time still says how things are.
  bool IsCurrent(const std::optional<WallTime>& look, WallTime now) const {
    constexpr Micros kSlowLook = std::chrono::seconds(30);
    return look && failure.ok() && now - *look <= 3 * interval + kSlowLook;
  }
};

// All that there is to see, of one moment.
struct StatusSnapshot {
  RelayStatus relay;
  SamplerLooks looks;
  absl::Status source_problem;
  std::optional<SlotSample> slot;
  std::vector<PastError> errors;      // the latest first
  std::vector<HistoryPoint> history;  // the oldest first; an hour at most
};

// Whether state, publication and slot are as they should be.
bool IsReady(const StatusSnapshot& snapshot);

class StatusBoard {
 public:
  // `look_interval`: between two looks of the sampler.
  explicit StatusBoard(Micros look_interval = std::chrono::seconds(5)) {
    shown_.looks.interval = look_interval;
  }

  void Publish(RelayStatus status) {
    const std::lock_guard lock(mutex_);
    shown_.relay = std::move(status);
  }
  RelayStatus Read() const {
    const std::lock_guard lock(mutex_);
    return shown_.relay;
  }

  // What the sampler found wrong with the publication or a table; OK when nothing is.
  void SetSourceProblem(const absl::Status& problem, WallTime now) {
    const std::lock_guard lock(mutex_);
    shown_.source_problem = problem;
    shown_.looks.publication = now;
    shown_.looks.failure = absl::OkStatus();
  }
  absl::Status source_problem() const {
    const std::lock_guard lock(mutex_);
    return shown_.source_problem;
  }

  // What the sampler found at its last look at the slot; nullopt before the first.
  void SetSlot(const SlotSample& sample, WallTime now) {
    const std::lock_guard lock(mutex_);
    shown_.slot = sample;
    shown_.looks.slot = now;
  }
  // Its last look failed. REQUIRES: !failure.ok().
  void SetLookFailure(const absl::Status& failure) {
    const std::lock_guard lock(mutex_);
    shown_.looks.failure = failure;
  }
  std::optional<SlotSample> slot() const {
    const std::lock_guard lock(mutex_);
    return shown_.slot;
  }

  SamplerLooks looks() const {
    const std::lock_guard lock(mutex_);
    return shown_.looks;
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
