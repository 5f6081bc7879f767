// Session: one stream, from START_REPLICATION to its end.
//
// Each turn reads what has come, hands it through the pipeline as far as the window allows, and
// reports to the server; it never waits. When a message cannot be handled now it stays where it is
// and so does everything behind it: not reading is the back-pressure. Reports to the server go on
// all the same.
//
// Single-threaded.
#pragma once

#include <array>
#include <optional>
#include <string_view>

#include "absl/status/status.h"
#include "metrics/metrics.h"
#include "relay/in_flight_window.h"
#include "relay/pacer.h"
#include "relay/pipeline.h"
#include "relay/stage_latencies.h"
#include "relay/visibility_gate.h"
#include "txn/ack_tracker.h"
#include "txn/feedback.h"
#include "walrelay/clock.h"
#include "walrelay/config.h"
#include "walrelay/producer.h"
#include "walrelay/replication_source.h"

namespace walrelay {

// When a loop is to be run again: at a time, or earlier when something has come.
struct Wakeup {
  MonoTime at;
  bool source_readable = false;
  bool source_writable = false;
};

class Session {
 public:
  struct Parts {
    const Config& config;
    const Clock& clock;
    ReplicationSource& source;
    Pipeline& pipeline;
    AckTracker& tracker;
    Metrics& metrics;
    StageLatencies& stages;
    SnapshotSource* snapshots;  // nullptr: transactions need not be visible
  };

  // `parts` must outlive the session; the source has just started to stream.
  Session(const Parts& parts, const ServerFacts& server);

  // One bounded turn. With `draining` nothing is read beyond the end of the transaction that is
  // open. An error ends the session.
  absl::Status Turn(Producer& producer, bool draining);

  // The last word: sends the frontier and ends the stream in good order.
  absl::Status Finish(Micros patience);

  Wakeup NextWakeup() const;

  // Why publishing is blocked: a row or a topic that needs a person (reaction kBlocked); OK while
  // events flow.
  const absl::Status& obstacle() const { return obstacle_; }
  // Whether a message waits for a topic's metadata: something to be delivered, with nothing in
  // flight.
  bool waits_for_topic() const { return hold_ == Hold::kTopic; }
  // Whether a row that is to be left out waits for the log to take its line.
  bool waits_for_log() const { return hold_ == Hold::kLog; }
  // Since when no message could be handled, for whatever reason (window, topic, obstacle).
  std::optional<MonoTime> held_since() const { return held_since_; }
  // The same in words; "" while nothing is in the way.
  std::string_view waits_for() const;
  // Why a transaction is held until it is visible (WR-2014); OK while none is.
  absl::Status unseen() const;
  // How long ago what is being handled was committed, by the server's clock; 0 when nothing is.
  Micros lag() const;

 private:
  // What the next message waits for.
  enum class Hold { kNone, kWindow, kProducer, kTopic, kReport, kLog, kObstacle, kVisibility };

  absl::Status Read(MonoTime now);
  absl::Status HandlePending(MonoTime now, Producer& producer, bool draining);
  // kNone: the message is done with.
  absl::StatusOr<Hold> HandleOne(std::string_view message, MonoTime now, Producer& producer);
  absl::StatusOr<Hold> HandleData(const pgoutput::XLogData& data, MonoTime now, Producer& producer);
  void OnHandled(const pgoutput::XLogData& data, MonoTime now);
  void MeasureStages(WallTime committed, WallTime sent);
  absl::Status Report(MonoTime now);
  absl::Status SendStatus(MonoTime now, FeedbackCause cause);
  void SetHold(Hold hold, bool moved, MonoTime now);
  void SetObstacle(const absl::Status& obstacle, MonoTime now);
  bool MayHandle(MonoTime now);
  bool Admits(std::string_view payload, MonoTime now);
  bool BurstComplete(MonoTime now) const;
  prometheus::Counter& MessageCounter(char type);

  Parts parts_;
  Feedback feedback_;
  InFlightWindow window_;
  Pacer pacer_;
  std::optional<VisibilityGate> gate_;
  MonoTime last_turn_;
  MonoTime last_handled_;
  Micros last_lag_{0};                   // of the message that was handled then
  MonoTime read_at_;                     // not before
  std::optional<MonoTime> burst_since_;  // when the oldest pending message came
  Hold hold_ = Hold::kNone;
  std::optional<MonoTime> held_since_;
  absl::Status obstacle_;
  MonoTime retry_obstacle_at_;
  Micros obstacle_wait_{0};
  std::array<prometheus::Counter*, 128> message_counters_{};
};

}  // namespace walrelay
