// Relay: keeps the stream going, whatever happens to either end.
//
// A state machine that is run in turns by one thread. It connects, decides where to start, lets a
// session stream, and answers each failure in one of two ways: when only Postgres was lost, it
// reconnects behind what is in flight; when anything is wrong with Kafka it stops the line:
// producer and session are given up, and both begin again at the frontier. It ends when it was
// drained, or when going on could lose events without a person having decided so.
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
    DeliveryObserver observer;  // may be empty
    uint64_t seed = 0;          // of the back-off's jitter
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

  // The slot was seen past what the server keeps for it. The next checkpoint ends its reader, and
  // waits until that is gone: for ever, where the reader's client does not read.
  void OnSlotAlmostLost();

  bool finished() const { return finished_; }
  // Why it ended; OK after a drain.
  const absl::Status& result() const { return result_; }

  // For the loop's poll(): -1 without a producer.
  int producer_fd() const { return producer_ != nullptr ? producer_->poll_fd() : -1; }

 private:
  enum class Phase { kDisconnected, kWaitingForSlot, kStreaming };

  // DeliverySink
  void OnDelivered(const Delivery& delivery) override;
  void OnFailed(DeliveryToken token, const absl::Status& error) override;

  bool StopIfSuspended(MonoTime now);  // true: the line was stopped for it
  void TakeReports(MonoTime now);
  void WatchForStall(MonoTime now);
  void Connect(MonoTime now);
  absl::Status OpenAndStart();
  absl::StatusOr<SourceFacts> OpenServer();
  absl::StatusOr<SourceFacts> OpenSource();
  absl::Status GiveUpSlot(const SourceFacts& facts);
  absl::Status TakeSlot(const SlotFacts& slot);
  absl::Status EnsureProducer(bool keep_in_flight);
  absl::Status ShrinkBatches(const absl::Status& error);
  void LogStart(const SourceFacts& facts, const StartDecision& decision) const;
  void NoteHolder(const SlotFacts& slot);
  void WaitForSlot(MonoTime now);
  void OnConnectError(const absl::Status& error, MonoTime now);
  void OnSessionError(const absl::Status& error, MonoTime now);
  void Disconnect(const absl::Status& error, MonoTime now);
  void StepAside(const absl::Status& reason, Micros patience);
  void StopTheLine(const absl::Status& cause, MonoTime now);
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
  RelayFigures Figures() const;
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
  absl::Status last_error_;      // of the last connection or producer, while there is no session
  absl::Status delivery_error_;  // reported in this turn
  int64_t max_batch_bytes_;      // smaller after a broker refused a batch
  absl::Status standing_;        // why the line stands, until there is progress again
  std::optional<StreamMemory> memory_;
  absl::Status dropping_;  // not OK: the slot was to be dropped, and the process to end with this
  int own_backend_pid_ = 0;
  bool has_streamed_ = false;
  Lsn noted_frontier_;  // at the last connection, or the last progress since

  // The same error at the same position, again and again.
  ErrorCode repeated_code_{};
  Lsn repeated_at_;
  int repeats_ = 0;

  MonoTime awake_at_;       // when the process was last seen at work
  MonoTime last_delivery_;  // or the time since which something is in flight
  std::optional<WallTime> last_published_;
  std::optional<WallTime> oldest_unpublished_;  // its commit, when the last session ended
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
