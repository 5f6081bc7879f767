// StatusReporter: turns the relay's state into what operators see: the status board, the gauges,
// and a log line for each change of state.
//
// It also measures acknowledged events: their latency, their number by topic, and the points of the
// status page's chart. It changes nothing in the relay. Single-threaded; other threads read the
// board and the metrics.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "metrics/metrics.h"
#include "relay/gap_detector.h"
#include "relay/pipeline.h"
#include "relay/producer_monitor.h"
#include "relay/progress_recorder.h"
#include "relay/run_state.h"
#include "relay/session.h"
#include "relay/transaction_committer.h"
#include "status/latency_window.h"
#include "status/stage_latencies.h"
#include "status/status_board.h"
#include "stream/ack_tracker.h"
#include "walrelay/clock.h"
#include "walrelay/config.h"
#include "walrelay/producer.h"

namespace walrelay {

// Operators act on what this class publishes: the errors of a session that has ended are shown
// until there is progress.
class StatusReporter {
 public:
  struct Parts {
    const Config& config;
    const Clock& clock;
    Metrics& metrics;
    StatusBoard& board;
    const RunState& state;
    const AckTracker& tracker;
    const Pipeline& pipeline;
    const Producer& producer;
    const GapDetector& gaps;
    const ProgressRecorder& recorder;
    const TransactionCommitter& committer;
    const ProducerMonitor& monitor;
  };

  // `parts` must outlive it. It only reads them, except for the board and the metrics.
  // The series of topics are limited by metrics.max_topics.
  explicit StatusReporter(const Parts& parts);

  // --- events

  // A record was acknowledged. Called for each event, within the producer's Poll().
  void OnDelivered(const Delivery& delivery, WallTime commit_time);
  // By all sessions and producers since the process began; it only grows.
  uint64_t acknowledged() const { return acknowledged_; }
  // Latencies by stage; the session adds the first two, OnDelivered() the third. Valid as long as
  // this object.
  StageLatencies& stages() { return stages_; }

  // --- state. `session`: the current one, or nullptr. It is used during the call only. REQUIRES:
  // not nullptr while streaming.

  // Notes the phase; call it once a turn. True if the status is due to be published: at intervals,
  // and always once the relay has finished.
  bool OnTurn(MonoTime now);
  // The next OnTurn() returns true: what is shown is outdated, and an operator acts on it.
  void PublishNext() { due_ = MonoTime(); }
  // Updates the board and the gauges, and logs a change of state. Call it when OnTurn() returned
  // true, at the end of the turn: it describes the state that the turn left.
  void Publish(MonoTime now, const Session* session);

  // Commit time of the oldest known event that is not acknowledged, including a row that waits to
  // be produced. nullopt: none is known. Without a session: what is in flight, and what the last
  // session left to be read again.
  std::optional<WallTime> OldestUnpublished(const Session* session) const;

 private:
  // The state, with the error and the row that explain it. A blocked state has an error.
  RelayStatus Describe(MonoTime now, const Session* session) const;
  // REQUIRES: the phase is kStreaming.
  RelayStatus DescribeStream(MonoTime now, const Session& session) const;
  // Why nothing was acknowledged or handled for seconds; OK otherwise.
  absl::Status StallStatus(MonoTime now, const Session& session) const;
  // Why no progress was recorded for seconds; OK otherwise.
  absl::Status RecordingStatus(MonoTime now) const;
  // "" while nothing is waited for.
  std::string WaitReason(MonoTime now, const Session* session) const;
  // Shows other threads what the stream has published.
  void PublishProof(MonoTime now);
  // Logs a state, or an error code, that differs from the published one.
  void OnChange(const RelayStatus& status, const Session* session);
  RelayFigures Figures(MonoTime now, const Session* session) const;
  // nullopt with pipeline.progress = "off".
  std::optional<ProgressStatus> DescribeProgress() const;
  // nullopt with at-least-once delivery.
  std::optional<TransactionStatus> DescribeTransactions(MonoTime now) const;
  // A stream that sends nothing although WAL waits to be sent.
  struct Silent {
    absl::Status error;  // WR-2112, WR-2113; OK while Postgres decodes, and at first
    Micros lasts{0};
    bool rows_may_wait = true;
  };
  // nullopt while the stream is up to date, and while this process holds it up.
  std::optional<Silent> Silence(MonoTime now, const Session& session) const;
  bool RowsMayWait() const;
  std::optional<WallTime> SilentSince(MonoTime now, const Session* session) const;
  // How long the relay has been unable to read: what it has not seen may be that old, or older.
  Micros TimeCutOff(MonoTime now) const;
  // Adds a point to the chart every ten seconds, from the events since the last one.
  void AddPoint(MonoTime now);
  // Removes gauges that have no meaning in this state.
  void UpdateGauges(MonoTime now, RelayState state, const Session* session);
  void UpdateProgressGauges();
  void UpdateTransactionGauge(MonoTime now);
  void ClearLeaderGauges();
  // The series of the topic, or the common one of those beyond the limit. Valid as long as the
  // metrics.
  prometheus::Counter& TopicCounter(std::string_view topic);

  Parts parts_;
  StageLatencies stages_;
  uint64_t acknowledged_ = 0;
  std::optional<WallTime> last_published_;
  LatencyWindow latencies_;  // since the last history point
  std::optional<MonoTime> last_point_;
  // Its gauges are left to that instance.
  bool stood_by_ = false;  // another instance held the slot at the last attempt
  // Operators have seen these last; a line is logged when they change.
  RelayState published_state_ = RelayState::kStopped;
  absl::Status published_error_;
  WallTime published_since_;
  // When the board is updated next.
  MonoTime due_;
  std::string last_topic_;  // of the last delivery; last_topic_counter_ is its series
  prometheus::Counter* last_topic_counter_ = nullptr;
};

}  // namespace walrelay
