// Session: one replication stream, from START_REPLICATION to its end.
//
// Each turn reads the available messages, passes them through the pipeline as far as the in-flight
// window allows, and reports to the server; it never blocks. A message that cannot be handled now
// remains pending, and so do all messages after it: not reading is the back-pressure. Reports to
// the server continue meanwhile.
//
// Single-threaded.
#pragma once

#include <array>
#include <optional>
#include <string_view>

#include "absl/status/status.h"
#include "metrics/metrics.h"
#include "relay/pipeline.h"
#include "relay/visibility_gate.h"
#include "status/stage_latencies.h"
#include "stream/ack_tracker.h"
#include "stream/feedback.h"
#include "stream/in_flight_window.h"
#include "stream/pacer.h"
#include "walrelay/clock.h"
#include "walrelay/config.h"
#include "walrelay/producer.h"
#include "walrelay/replication_source.h"

namespace walrelay {

// When the loop must run next: at a time, or earlier when a descriptor is ready.
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
    SnapshotSource* snapshots;  // nullptr: publish without waiting for visibility
  };

  // `parts` must outlive the session; the source has just started to stream.
  Session(const Parts& parts, const ServerFacts& server);

  // One bounded turn. With `draining`, nothing is handled after the end of the open transaction. An
  // error ends the session.
  absl::Status Turn(Producer& producer, bool draining);

  // Sends a final status update with the frontier and closes the stream gracefully.
  absl::Status Finish(Micros patience);

  Wakeup NextWakeup() const;

  // Why publishing is blocked: a row or a topic that needs an operator (reaction kBlocked); OK
  // while events flow.
  const absl::Status& obstacle() const { return obstacle_; }
  // Whether a message waits for a topic's metadata: there is something to deliver although nothing
  // is in flight.
  bool waits_for_topic() const { return hold_ == Hold::kTopic; }
  // Whether a row to be skipped waits for room in the log.
  bool waits_for_log() const { return hold_ == Hold::kLog; }
  // Since when no message could be handled, for any reason (window, topic, obstacle).
  std::optional<MonoTime> held_since() const { return held_since_; }
  // The same as text for operators; "" while handling is not held up.
  std::string_view waits_for() const;
  // Why a transaction is held until it is visible (WR-2014); OK while none is held.
  absl::Status unseen() const;
  // Age of the commit that is being handled, by the server's clock; 0 when idle.
  Micros lag() const;

 private:
  // What handling of the next message waits for.
  enum class Hold { kNone, kWindow, kProducer, kTopic, kReport, kLog, kObstacle, kVisibility };

  absl::Status Read(MonoTime now);
  absl::Status HandlePending(MonoTime now, Producer& producer, bool draining);
  // kNone: the message has been handled.
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
  Micros last_lag_{0};                   // of the message handled at last_handled_
  MonoTime read_at_;                     // earliest time of the next read
  std::optional<MonoTime> burst_since_;  // arrival of the oldest pending message
  Hold hold_ = Hold::kNone;
  std::optional<MonoTime> held_since_;
  absl::Status obstacle_;
  MonoTime retry_obstacle_at_;
  Micros obstacle_wait_{0};
  std::array<prometheus::Counter*, 128> message_counters_{};
};

}  // namespace walrelay
