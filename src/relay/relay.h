// Relay: keeps the stream running through failures of Postgres and of Kafka.
//
// A state machine that one thread runs in turns. It connects, decides where to start, runs a
// session, and handles each failure in one of three ways. If only the Postgres connection was lost,
// it reconnects after the records in flight. If the producer failed with records in flight, it
// starts over: producer and session are closed, and both restart at the frontier. If the producer
// failed and no record was lost, the producer is replaced and the session continues. When events
// may be missing, it holds (or exits, with source.on_gap = "exit") until an operator has accepted
// the gap. It finishes when it was drained, or when it cannot start at all.
//
// The relay owns the producer and the tracker; the source belongs to the caller. Its methods must
// be called on its one thread; other threads read the StatusBoard and the metrics.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>

#include "absl/status/status.h"
#include "base/backoff.h"
#include "metrics/metrics.h"
#include "relay/pipeline.h"
#include "relay/session.h"
#include "relay/unavailable_producer.h"
#include "route/router.h"
#include "status/latency_window.h"
#include "status/status_board.h"
#include "stream/ack_tracker.h"
#include "stream/start_position.h"
#include "walrelay/clock.h"
#include "walrelay/config.h"
#include "walrelay/error.h"
#include "walrelay/producer.h"
#include "walrelay/replication_source.h"

namespace walrelay {

class Relay final : private DeliverySink {
 public:
  // Called for each acknowledged event, with the time of its commit.
  using DeliveryObserver = std::function<void(const Delivery&, WallTime commit_time)>;

  struct Parts {
    const Config& config;
    const Clock& clock;
    ReplicationSource& source;
    ProducerFactory make_producer;
    Metrics& metrics;
    StatusBoard& board;
    DeliveryObserver observer;            // may be empty
    uint64_t seed = 0;                    // for the jitter of the back-off
    SnapshotSource* snapshots = nullptr;  // with source.wait_visible
  };

  // The objects that `parts` refers to must outlive the relay.
  Relay(Parts parts, Router router);
  ~Relay() override;

  // Runs one turn; blocks only while connecting. Call it again at the Wakeup.
  Wakeup Turn();

  // SIGTERM: finish the open transaction, wait for the records in flight, confirm, stop.
  void Drain();

  // Another connection observed that the server is shutting down. The server waits for its
  // walsenders; without Kafka the relay's walsender would not finish.
  void OnServerShuttingDown();

  // With source.on_retained_limit = "drop_slot": another connection observed that the slot retains
  // as much WAL as it may. Ignored on a standby instance: the instance that reads the slot drops
  // it.
  void OnRetainedLimit();

  // Another connection read the publication; the read began at `begun`.
  void OnPublicationSeen(const PublicationLook& look, MonoTime begun);

  // An operator accepts that events are missing: applies to the held gap, if `id` still identifies
  // it. Publishing continues from the slot's position at the next check, if that finds no other
  // gap.
  void AcceptGap(std::string_view id);

  // Another connection observed that the slot exceeds the server's limit. The next checkpoint ends
  // the slot's walsender, and waits for its exit without a timeout: if the client does not read,
  // the checkpoint does not complete.
  void OnSlotAlmostLost();

  bool finished() const { return finished_; }
  // Why the relay finished; OK after a drain.
  const absl::Status& result() const { return result_; }

  // For the loop's poll(): -1 without a producer.
  int producer_fd() const { return producer_ != nullptr ? producer_->poll_fd() : -1; }
  const SnapshotSource* snapshots() const { return parts_.snapshots; }

 private:
  enum class Phase { kDisconnected, kWaitingForSlot, kStreaming };

  // DeliverySink
  void OnDelivered(const Delivery& delivery) override;
  void OnFailed(const DeliveryFailure& failure) override;

  bool StopIfSuspended(MonoTime now);  // true: suspended, and the records in flight were abandoned
  void TakeReports(MonoTime now);
  void OnProducerFailed(const absl::Status& error, MonoTime now);
  bool AllReportsAreIn() const { return lost_records_ == tracker_.records_in_flight(); }
  void WatchForStall(MonoTime now);
  std::optional<MonoTime> WaitingForKafkaSince() const;
  void RenewProducer(MonoTime now);
  void RetireProducer(const absl::Status& cause, MonoTime retry_at);
  Producer& ProducerInUse(MonoTime now);
  void Connect(MonoTime now);
  absl::Status OpenAndStart();
  absl::StatusOr<SourceFacts> OpenServer();
  absl::StatusOr<SourceFacts> OpenSource();
  absl::Status GiveUpSlot(const SourceFacts& facts);
  absl::Status JudgeGap(const SourceFacts& facts);
  void CheckAcceptance(const SourceFacts& facts);
  void ApplyAcceptance(const SourceFacts& facts);
  void OnGap(const absl::Status& error, MonoTime now);
  void RememberPublication(const SourceFacts& facts);
  bool KafkaTakesAgain() const;
  absl::Status TakeSlot(const SlotFacts& slot);
  absl::Status EnsureProducer(bool keep_in_flight);
  absl::Status MakeProducer();
  void DestroyProducer();
  void ShrinkBatches(const absl::Status& error);
  void LogStart(const SourceFacts& facts, const StartDecision& decision) const;
  bool IsOthers(const SlotFacts& slot) const;
  void NoteHolder(const SlotFacts& slot);
  void WaitForSlot(MonoTime now);
  bool MayCreateSlot() const;
  bool EndsProcess(const absl::Status& error) const;
  void AllowMoreTime();
  void OnConnectError(const absl::Status& error, MonoTime now);
  void OnSessionError(const absl::Status& error, MonoTime now);
  void Disconnect(const absl::Status& error, MonoTime now);
  void StepAside(const absl::Status& reason, Micros patience);
  void StartOver(const absl::Status& cause, MonoTime now);
  void EndSession();
  void NoteProgress();
  void Remember();
  absl::Status CountRepeats(const absl::Status& error);
  void ContinueDrain(MonoTime now);
  void Finish(const absl::Status& result);

  RelayStatus Describe(MonoTime now) const;
  absl::Status Waiting(MonoTime now) const;
  void PublishStatus(MonoTime now);
  std::string WaitsFor(MonoTime now) const;
  RelayFigures Figures(MonoTime now) const;
  std::optional<WallTime> OldestUnpublished() const;
  Micros TimeCutOff(MonoTime now) const;
  void AddPoint(MonoTime now);
  void UpdateGauges(MonoTime now, RelayState state);
  void ClearLeaderGauges();
  Wakeup NextWakeup(MonoTime now) const;

  Parts parts_;
  StageLatencies stages_;
  AckTracker tracker_;
  Pipeline pipeline_;
  std::unique_ptr<Producer> producer_;
  std::unique_ptr<Session> session_;

  Phase phase_ = Phase::kDisconnected;
  MonoTime retry_at_;
  Backoff reconnect_backoff_;
  Backoff producer_backoff_;
  absl::Status last_error_;  // of the last connection or producer, while there is no session

  // About the current producer's failure.
  absl::Status delivery_error_;  // the cause named by a delivery report
  std::optional<MonoTime> failing_since_;
  size_t lost_records_ = 0;  // failed records of handled rows: they must be read again
  std::optional<Position> first_lost_;
  // First record that a broker refused; the others were purged
  std::optional<Position> first_refused_;
  bool unnamed_lost_ = false;  // a record whose position is unknown is among the lost ones

  bool single_stepping_ = false;  // the records to be read again are sent one at a time
  std::optional<Lsn> failed_at_;  // the frontier when a producer last failed for its own reason
  MonoTime producer_made_at_;
  std::optional<MonoTime> producer_retry_at_;  // there is no producer until then
  absl::Status producer_error_;                // why there is none
  std::optional<MonoTime> outdated_since_;     // since when the producer should be replaced
  UnavailableProducer no_producer_;
  int64_t max_batch_bytes_;  // reduced after a broker refused a batch
  absl::Status standing_;    // why publishing is blocked, until there is progress again
  std::optional<StreamMemory> memory_;
  std::optional<PublicationLook> publication_;  // the last read that found no problem
  MonoTime publication_seen_at_;                // when that read was complete
  PublicationIdentity disputed_;  // seen by another connection, not yet by the relay's own
  bool slot_seen_ = false;        // this process has seen the slot

  std::optional<Gap> gap_;    // the gap at which the relay holds
  std::optional<Gap> found_;  // by the last check
  bool gap_accepted_ = false;
  uint64_t gap_looks_ = 0;     // checks since the gap was found
  absl::Status gap_obstacle_;  // must be fixed before the gap can be accepted
  // Not OK: a drop of the slot was attempted, and this is the resulting error
  absl::Status dropping_;
  int own_backend_pid_ = 0;
  bool opened_ = false;  // the source was opened at least once
  // Opened without a permanent error: from then on errors do not end the process
  bool started_ = false;
  bool has_streamed_ = false;
  Lsn noted_frontier_;  // at the last connection, or at the last progress since

  // About a stream that fails repeatedly at the same position.
  Lsn wal_end_at_start_;  // of the last session, at START_REPLICATION
  ErrorCode repeated_code_{};
  Lsn repeated_at_;
  int repeats_ = 0;
  Backoff stuck_backoff_;
  // For the next session, if greater than the configured one; 0: as configured
  Micros sender_timeout_{0};
  Micros session_timeout_{0};  // wal_sender_timeout of the last session

  // The stream was closed because the slot is being invalidated while nothing is read: the number
  // of acknowledged records at that time, and whether Kafka was reachable.
  struct Aside {
    uint64_t acknowledged = 0;
    bool kafka_reachable = false;
  };
  std::optional<Aside> aside_;

  MonoTime awake_at_;       // when the process last ran a turn
  MonoTime last_delivery_;  // or the time since which records are in flight
  std::optional<WallTime> last_published_;
  std::optional<WallTime> oldest_unpublished_;  // commit time, when the last session ended
  std::optional<WallTime> oldest_unread_;       // likewise, of rows that must be read again
  bool stood_by_ = false;  // another instance held the slot at the last attempt
  uint64_t acknowledged_ = 0;
  LatencyWindow latencies_;  // since the last history point
  std::optional<MonoTime> last_point_;
  MonoTime disconnected_since_;
  bool draining_ = false;
  MonoTime drain_deadline_;
  bool finished_ = false;
  absl::Status result_;

  RelayState published_state_ = RelayState::kStopped;
  absl::Status published_error_;
  WallTime published_since_;
  MonoTime gauges_due_;
  std::string last_topic_;  // of the last delivery; last_topic_counter_ is its series
  prometheus::Counter* last_topic_counter_ = nullptr;
};

}  // namespace walrelay
