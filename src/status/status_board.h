// StatusBoard: the state that the relay's thread shares with other threads.
//
// The relay publishes its status, its errors and points of history at intervals, and a heartbeat in
// each turn; the sampler adds its observations; HTTP handlers read. Thread-safe. Memory is bounded:
// one hour of history, a handful of errors.
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
#include "base/check.h"
#include "outbox/table_reading.h"
#include "prune/prune_status.h"
#include "slot/slot_copy.h"
#include "slot/slot_sample.h"
#include "status/error_history.h"
#include "stream/gap.h"
#include "stream/published_proof.h"
#include "walrelay/clock.h"
#include "walrelay/lsn.h"

namespace walrelay {

enum class RelayState : uint8_t {
  kStarting,    // not yet streamed
  kStandby,     // another instance holds the slot
  kCatchingUp,  // streaming, lagging
  kStreaming,
  kDegraded,  // cut off from Postgres or from Kafka; retries automatically
  kBlocked,   // nothing is published until an operator acts: a row, a setting, a gap
  kDraining,
  kStopped,
};

// Also the label of the gauge.
// A literal, lower case with underscores; part of the JSON status, so it never changes.
std::string_view NameOf(RelayState state);
// Whether an orchestrator should consider the instance ready.
// True for a standby as well: it would take over, and must not be restarted because it waits.
bool IsReady(RelayState state);

// Numbers that change from moment to moment, as opposed to the state.
// `received`: the stream is processed up to here. `frontier`: Kafka has acknowledged every event
// before it. Both are 0/0 before the first session. Bytes are those of the in-flight window
// (Record::window_bytes()).
struct RelayFigures {
  uint64_t acknowledged = 0;  // events, since the process started
  uint64_t records_in_flight = 0;
  uint64_t bytes_in_flight = 0;
  uint64_t transactions_in_flight = 0;
  std::optional<WallTime> oldest_commit;  // of the transactions read and not yet acknowledged
  // Since when nothing can be read, or Postgres sends nothing although WAL waits: transactions
  // committed after that are unpublished and unknown. Absent while the stream is up to date, and
  // for a standby.
  std::optional<WallTime> cut_off_since;
  std::optional<WallTime> last_acknowledged;
  // A large row is arriving, which has at most so much; 0: none is.
  uint64_t incoming_bytes = 0;
  // Rows of other origins that were skipped since the process started. Absent unless source.origin
  // is "none".
  std::optional<uint64_t> skipped_origin_rows;
  Lsn received;
  Lsn frontier;
  int backend_pid = 0;  // the server process that streams to this relay; 0: none does
};

// The progress record, as this process read or wrote it last (pipeline.progress).
struct ProgressStatus {
  // False: no record is required, and the user may not use the topic. `topic` is the only
  // other value then.
  bool enabled = true;
  std::string topic;  // "" before the first read
  Lsn frontier;       // 0/0: no record is known
  std::optional<WallTime> written;
  // How far the acknowledged frontier is ahead of what is recorded, with events in between; 0 if
  // only WAL of other tables is. Absent if the two are not comparable.
  std::optional<uint64_t> ahead_bytes;
};

// Where a producer with pipeline.mode = "exactly_once" is.
enum class TransactionState : uint8_t {
  kClaiming,    // the transactional id; nothing is published until then
  kIdle,        // no transaction is open
  kOpen,        // some events are sent, and not visible to consumers of committed records
  kCommitting,  // the last record of the transaction is sent
};
// A literal, lower case; part of the JSON status.
std::string_view NameOf(TransactionState state);

// The Kafka transactions of this process.
struct TransactionStatus {
  TransactionState state = TransactionState::kClaiming;
  // When the transaction that is open, or is being committed, was opened.
  std::optional<WallTime> since;
  uint64_t committed = 0;  // since the process started
  // Why a transaction, or an attempt to claim the id, failed last; OK: none has failed.
  absl::Status failure;
  std::optional<WallTime> failed;

  friend bool operator==(const TransactionStatus&, const TransactionStatus&) = default;
};

// The relay's state as it publishes it, as a whole: readers never see parts of two states.
struct RelayStatus {
  RelayState state = RelayState::kStarting;
  absl::Status error;         // why the state is not healthy; OK when it is
  std::string detail;         // the row or topic concerned
  std::optional<Gap> gap;     // nothing is published until an operator accepts it
  bool gap_accepted = false;  // takes effect at the next check of the source
  absl::Status gap_error;     // must be fixed before the gap can be accepted, as of the last check
  uint64_t gap_checks = 0;    // checks of the source since the gap was found
  std::string accepted_gap;   // the id of the one that was accepted last, here or elsewhere
  WallTime since;             // when the relay entered this state
  std::string waits_for;      // what must happen before it continues; "" when nothing must
  RelayFigures figures;
  std::optional<ProgressStatus> progress;         // absent with pipeline.progress = "off"
  std::optional<TransactionStatus> transactions;  // only with pipeline.mode = "exactly_once"
  // The rest of a transaction that cannot be read (WR-2402): an operator may continue without it.
  std::optional<Gap> stuck;
};

// How the time from commit to acknowledgement divides over the stages: the medians of the events
// and transactions of one interval, measured as described in stage_latencies.h.
struct StageMedians {
  Micros postgres{0};  // until it was sent
  Micros relay{0};     // including the network
  Micros kafka{0};
};

// One interval of the history.
struct HistoryPoint {
  WallTime at;  // end of the interval
  Micros span{0};
  uint64_t events = 0;            // acknowledged
  std::optional<Micros> median;   // from commit to acknowledgement; absent without an event
  std::optional<Micros> slowest;  // 99th percentile
  std::optional<StageMedians> stages;
  std::optional<uint64_t> lag_bytes;  // at the end of the interval, as last sampled
};

// When the sampler last read the server, by this host's clock. A value that was never read, or not
// recently, is not known to be good.
// A failure is cleared by the next successful check of the publication, which the sampler makes
// after the sample of the slot.
struct SamplerStatus {
  Micros interval = std::chrono::seconds(5);  // as configured
  std::optional<WallTime> slot;               // last successful sample
  std::optional<WallTime> publication;        // last successful check
  absl::Status failure;                       // why the last sample failed; OK when it succeeded

  // Whether a sample from that time still describes the present.
  // False after a failure, and when the sample is older than three intervals and 30 seconds, the
  // time that a slow sample may take.
  bool IsCurrent(const std::optional<WallTime>& look, WallTime now) const {
    constexpr Micros kSlowSample = std::chrono::seconds(30);
    return look && failure.ok() && now - *look <= 3 * interval + kSlowSample;
  }
};

// The complete state at one moment.
struct StatusSnapshot {
  RelayStatus relay;
  SamplerStatus sampler;
  absl::Status source_problem;
  std::optional<SlotSample> slot;
  std::vector<SlotCopy> copies;        // of the standbys of source.dsn; empty: not read, or none
  std::vector<TableReading> tables;    // as counted last; empty: not yet, or by another instance
  std::optional<PruneStatus> pruning;  // absent: off, before the first pass, or by another instance
  std::vector<PastError> errors;       // latest first
  std::vector<HistoryPoint> history;   // oldest first; one hour at most
};

// Whether state, publication and slot are healthy.
// Not ready: IsReady(state) is false, the publication or a table has a problem, or the slot's risk
// is critical or worse. A slot that was not sampled yet does not count against the instance.
bool IsReady(const StatusSnapshot& snapshot);

// The snapshot without the texts that may quote a row: which row blocks, and the messages of errors
// about a row, which become the titles of the catalogue.
StatusSnapshot WithoutRowData(StatusSnapshot snapshot);

class StatusBoard {
 public:
  // `sample_interval`: the sampling interval.
  explicit StatusBoard(Micros sample_interval = std::chrono::seconds(5)) {
    shown_.sampler.interval = sample_interval;
  }

  // The relay's state; called by its thread several times a second.
  void Publish(RelayStatus status) {
    const std::lock_guard lock(mutex_);
    shown_.relay = std::move(status);
  }
  // A copy: safe to use without the lock.
  RelayStatus Read() const {
    const std::lock_guard lock(mutex_);
    return shown_.relay;
  }

  // The problem that the sampler found in the publication or a table; OK when there is none.
  void SetSourceProblem(const absl::Status& problem, WallTime now) {
    const std::lock_guard lock(mutex_);
    shown_.source_problem = problem;
    shown_.sampler.publication = now;
    shown_.sampler.failure = absl::OkStatus();
  }
  absl::Status source_problem() const {
    const std::lock_guard lock(mutex_);
    return shown_.source_problem;
  }

  // The sampler's last sample of the slot; nullopt before the first one.
  void SetSlot(const SlotSample& sample, WallTime now) {
    const std::lock_guard lock(mutex_);
    shown_.slot = sample;
    shown_.sampler.slot = now;
  }
  // The copies of the slot on the standbys of source.dsn.
  void SetSlotCopies(std::vector<SlotCopy> copies) {
    const std::lock_guard lock(mutex_);
    shown_.copies = std::move(copies);
  }
  // The last count of the outbox tables.
  void SetTables(std::vector<TableReading> tables) {
    const std::lock_guard lock(mutex_);
    shown_.tables = std::move(tables);
  }
  std::vector<TableReading> tables() const {
    const std::lock_guard lock(mutex_);
    return shown_.tables;
  }
  void SetPruning(std::optional<PruneStatus> pruning) {
    const std::lock_guard lock(mutex_);
    shown_.pruning = std::move(pruning);
  }
  // The last sample failed. REQUIRES: !failure.ok().
  void SetSampleFailure(const absl::Status& failure) {
    WR_CHECK(!failure.ok(), "a failure has a cause");
    const std::lock_guard lock(mutex_);
    shown_.sampler.failure = failure;
  }
  std::optional<SlotSample> slot() const {
    const std::lock_guard lock(mutex_);
    return shown_.slot;
  }

  // Sets what the running stream has published; nullopt: no stream runs. The last proof remains
  // after its stream has ended, marked so.
  void SetPublished(std::optional<PublishedProof> published) {
    const std::lock_guard lock(mutex_);
    if (published) {
      proof_ = std::move(published);
    } else if (proof_) {
      proof_->current = false;
    }
  }
  // The relay holds a gap: the last proof may be of another server.
  void ForgetPublished() {
    const std::lock_guard lock(mutex_);
    proof_.reset();
  }
  // nullopt: nothing is proven. A copy.
  std::optional<PublishedProof> published() const {
    const std::lock_guard lock(mutex_);
    return proof_;
  }

  // When the sampler last succeeded.
  SamplerStatus sampler() const {
    const std::lock_guard lock(mutex_);
    return shown_.sampler;
  }

  // REQUIRES: !error.ok().
  // An error of the relay, for the list of recent errors.
  void NoteError(const absl::Status& error, WallTime now);
  // One interval of the history; adds the slot's lag as last sampled.
  // REQUIRES: points are added in the order of time. The oldest is dropped after 360 points: an
  // hour at one point per ten seconds, the relay's interval.
  void AddPoint(HistoryPoint point);

  // A copy: pages are built from it without holding the lock.
  // Copies up to 360 points: for a page or a command, not for each turn of the relay.
  StatusSnapshot Snapshot() const;
  // Without the copy, for a gauge.
  bool ready() const {
    const std::lock_guard lock(mutex_);
    return IsReady(shown_);
  }

  // Lock-free: called in each turn of the relay, and read by the liveness probe even if the lock
  // were held.
  void Beat(MonoTime now) {
    heartbeat_.store(now.time_since_epoch().count(), std::memory_order_relaxed);
  }
  // The epoch of MonoTime before the first Beat(): the owner calls Beat() before it serves probes.
  MonoTime last_beat() const {
    return MonoTime(Micros(heartbeat_.load(std::memory_order_relaxed)));
  }

 private:
  // Held for a copy or an assignment, never for I/O.
  mutable std::mutex mutex_;
  // Guards all members below except heartbeat_. The errors and history of shown_ are filled in by
  // Snapshot().
  StatusSnapshot shown_;
  ErrorHistory errors_;
  std::deque<HistoryPoint> history_;
  std::optional<PublishedProof> proof_;
  std::atomic<int64_t> heartbeat_{0};
};

}  // namespace walrelay
