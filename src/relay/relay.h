// Relay: keeps the stream going, whatever happens to either end.
//
// A state machine that is run in turns by one thread. It connects, decides where to start, lets a
// session stream, and answers each failure in one of three ways. When only Postgres was lost, it
// reconnects behind what is in flight. When the producer failed with records in flight, it starts
// over: producer and session are given up, and both begin again at the frontier. When the producer
// failed with nothing lost, it is replaced, and the session goes on. Where events may be missing it
// holds (or ends, with source.on_gap = "exit") until an operator has accepted that. It ends when it
// was drained, or when it cannot start at all.
//
// It owns the producer and the tracker; the source belongs to the caller. All its methods are for
// its one thread; other threads see the StatusBoard and the metrics.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>

#include "absl/status/status.h"
#include "base/backoff.h"
#include "metrics/metrics.h"
#include "relay/latency_window.h"
#include "relay/pipeline.h"
#include "relay/session.h"
#include "relay/status_board.h"
#include "relay/unavailable_producer.h"
#include "route/router.h"
#include "txn/ack_tracker.h"
#include "txn/start_position.h"
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
    uint64_t seed = 0;                    // of the back-off's jitter
    SnapshotSource* snapshots = nullptr;  // with source.wait_visible
  };

  // What `parts` refers to must outlive the relay.
  Relay(Parts parts, Router router);
  ~Relay() override;

  // One turn; blocks only while connecting. Run again at the Wakeup.
  Wakeup Turn();

  // SIGTERM: finish the transaction under way, wait for what is in flight, confirm, end.
  void Drain();

  // The server was seen shutting down, by a connection that is not the relay's. It waits for
  // walsenders to be done; with Kafka away this one would not be.
  void OnServerShuttingDown();

  // With source.on_retained_limit = "drop_slot" the slot was seen keeping as much log as it may.
  // Not for one that stands by: the slot's reader gives it up.
  void OnRetainedLimit();

  // The publication was looked at by a connection that is not the relay's; the look began at
  // `begun`.
  void OnPublicationSeen(const PublicationLook& look, MonoTime begun);

  // An operator accepts that events are missing: of the gap that is held, if `id` is still its
  // name. Publishing continues from where the slot stands at the next look, if that finds no other
  // gap.
  void AcceptGap(std::string_view id);

  // The slot was seen past what the server keeps for it. The next checkpoint ends its reader, and
  // waits until that is gone: for ever, where the reader's client does not read.
  void OnSlotAlmostLost();

  bool finished() const { return finished_; }
  // Why it ended; OK after a drain.
  const absl::Status& result() const { return result_; }

  // For the loop's poll(): -1 without a producer.
  int producer_fd() const { return producer_ != nullptr ? producer_->poll_fd() : -1; }
  const SnapshotSource* snapshots() const { return parts_.snapshots; }

 private:
  enum class Phase { kDisconnected, kWaitingForSlot, kStreaming };

  // DeliverySink
  void OnDelivered(const Delivery& delivery) override;
  void OnFailed(const DeliveryFailure& failure) override;

  bool StopIfSuspended(MonoTime now);  // true: it was, and what it held is given up
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

  // Of the present producer, when it fails.
  absl::Status delivery_error_;  // the cause that a report named
  std::optional<MonoTime> failing_since_;
  size_t lost_records_ = 0;  // failed, and their rows are handled: they must come again
  std::optional<Position> first_lost_;
  std::optional<Position> first_refused_;  // of those that brokers refused; the others were purged
  bool unnamed_lost_ = false;              // one whose position is not known is among the lost

  bool single_stepping_ = false;  // what is about to be read again goes one record at a time
  std::optional<Lsn> failed_at_;  // the frontier when a producer last failed for its own reason
  MonoTime producer_made_at_;
  std::optional<MonoTime> producer_retry_at_;  // there is no producer until then
  absl::Status producer_error_;                // why not
  std::optional<MonoTime> outdated_since_;     // since when the producer should be replaced
  UnavailableProducer no_producer_;
  int64_t max_batch_bytes_;  // smaller after a broker refused a batch
  absl::Status standing_;    // why publishing is blocked, until there is progress again
  std::optional<StreamMemory> memory_;
  std::optional<PublicationLook> publication_;  // the last look that found nothing wrong
  MonoTime publication_seen_at_;                // when that look was over
  PublicationIdentity disputed_;  // seen elsewhere, and not by the relay's own connection
  bool slot_seen_ = false;        // there was a slot when this process looked

  std::optional<Gap> gap_;    // held
  std::optional<Gap> found_;  // by the last look
  bool gap_accepted_ = false;
  uint64_t gap_looks_ = 0;     // since it is held
  absl::Status gap_obstacle_;  // must be fixed before the gap can be accepted
  absl::Status dropping_;  // not OK: the slot was to be dropped, and the process to end with this
  int own_backend_pid_ = 0;
  bool opened_ = false;   // the source could be opened
  bool started_ = false;  // and then nothing was wrong for good: errors do not end the process now
  bool has_streamed_ = false;
  Lsn noted_frontier_;  // at the last connection, or the last progress since

  // A stream that fails at the same position again and again.
  Lsn wal_end_at_start_;  // of the last session: when its stream was asked for
  ErrorCode repeated_code_{};
  Lsn repeated_at_;
  int repeats_ = 0;
  Backoff stuck_backoff_;
  Micros sender_timeout_{0};   // for the next session, beyond the configured one; 0: that one
  Micros session_timeout_{0};  // wal_sender_timeout of the last session

  // Stepped aside, since the slot is being lost while nothing is read: what was acknowledged by
  // then, and whether Kafka could be reached.
  struct Aside {
    uint64_t acknowledged = 0;
    bool kafka_reachable = false;
  };
  std::optional<Aside> aside_;

  MonoTime awake_at_;       // when the process was last seen at work
  MonoTime last_delivery_;  // or the time since which something is in flight
  std::optional<WallTime> last_published_;
  std::optional<WallTime> oldest_unpublished_;  // its commit, when the last session ended
  std::optional<WallTime> oldest_unread_;       // likewise, of what must be read again
  bool stood_by_ = false;  // another instance held the slot when it was last tried
  uint64_t acknowledged_ = 0;
  LatencyWindow latencies_;  // since the last point of the history
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
  std::string last_topic_;  // of the deliveries, and its series
  prometheus::Counter* last_topic_counter_ = nullptr;
};

}  // namespace walrelay
