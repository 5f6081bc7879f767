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
#include "relay/progress_recorder.h"
#include "relay/visibility_gate.h"
#include "status/relay_view.h"
#include "status/stage_latencies.h"
#include "stream/ack_tracker.h"
#include "stream/feedback.h"
#include "stream/in_flight_window.h"
#include "stream/pacer.h"
#include "walrelay/clock.h"
#include "walrelay/replication_source.h"
#include "walrelay/wait.h"

// The source, the pipeline and the tracker exist before and after it; what ends with the session is
// its timers, its window and its place in the burst.
namespace walrelay {

struct PipelineConfig;
struct SourceConfig;

// When the loop must run next: at a time, or earlier when a descriptor is ready.
struct Wakeup {
  MonoTime at;
  bool source_readable = false;
  bool source_writable = false;
  bool producer_readable = true;
};

class Session {
 public:
  struct Parts {
    const SourceConfig& source_config;
    const PipelineConfig& pipeline_config;
    const Clock& clock;
    ReplicationSource& source;
    Pipeline& pipeline;
    AckTracker& tracker;
    const ProgressRecorder& recorder;
    Metrics& metrics;
    StageLatencies& stages;
    SnapshotSource* snapshots;  // nullptr: publish without waiting for visibility
  };

  // `parts` must outlive the session; the source has just started to stream. REQUIRES: the pipeline
  // has begun its session, and the tracker is at `position`, where the stream starts, or after it.
  // Destroying the session neither closes the source nor ends the pipeline's session: the caller
  // does both.
  // Server settings that affect timing are taken from `server`: wal_sender_timeout, and whether the
  // connection is by network.
  Session(const Parts& parts, const ServerInfo& server, Lsn position);

  // One bounded turn. With `draining`, nothing is handled after the end of the open transaction. An
  // error ends the session: from then on only the const methods may be called. Errors: those of the
  // source, of Pipeline::Handle() and of VisibilityGate::Turn(), WR-2004 for a server that shuts
  // down, WR-2006 for a silent one. A row or topic that blocks is not an error here: see
  // blocking_error().
  absl::Status Turn(bool draining);

  // Sends a final status update with the frontier and closes the stream gracefully.
  // The server has read the update when it returns OK. Nothing can be sent afterwards: it is the
  // last call but those of const methods. Blocks for at most `timeout`. Allowed inside a
  // transaction.
  absl::Status Finish(Micros timeout);

  // The descriptors matter as well: Receive() and Flush() are called in the turn that follows.
  // Valid until the next turn, and until an acknowledgement moves the frontier.
  Wakeup NextWakeup() const;

  // Why publishing is blocked: a row or a topic that needs an operator (reaction kBlocked); OK
  // while events flow. It is kept while its message is retried, until a message is handled.
  const absl::Status& blocking_error() const { return blocking_error_; }
  // Whether a message waits for a topic's metadata: there is something to deliver although nothing
  // is in flight.
  bool waits_for_topic() const { return wait_ == Wait::kTopic; }
  // Whether everything that has arrived was handled, as far as the last turn has seen; while
  // draining, what follows is not handled.
  bool at_rest() const { return at_rest_; }
  // Whether nothing more is handled before the records in flight are acknowledged, or for an
  // indefinite time.
  bool needs_commit() const { return Describe(wait_).ends_transaction; }
  // Whether everything that was read is handled, so that the next turn reads if it is time to.
  bool reads_next() const { return wait_ == Wait::kNone && parts_.source.pending().empty(); }
  // The earliest time of the next read.
  MonoTime next_read() const { return read_at_; }
  // The position for which the server has last requested a reply: while it shuts down, it waits
  // until exactly this is confirmed.
  Lsn requested() const { return feedback_.requested(); }
  // Since when no message could be handled, for any reason (window, topic, error).
  std::optional<MonoTime> stalled_since() const { return stalled_since_; }
  // The same as text for operators; "" while handling is not held up. The text is static.
  std::string_view waits_for() const { return Describe(wait_).text; }
  // The session as the status describes it.
  RelayView::Stream View() const;

 private:
  // Moves arrived messages to the source's pending ones, and measures the pace. It never drops one.
  // Whether any has arrived.
  absl::StatusOr<bool> Read(MonoTime now);
  // Handles pending messages in order until one must wait, or none is left, and consumes those that
  // were handled. An error concerns the first one that was not.
  absl::Status HandlePending(MonoTime now, bool draining);
  // Announces the topics of the pending messages from `first` on, each message once.
  void LookAhead(size_t first);
  // kNone: the message has been handled. The views of `message` end when it is consumed.
  absl::StatusOr<Wait> HandleOne(std::string_view message, MonoTime now);
  absl::StatusOr<Wait> HandleData(const pgoutput::XLogData& data, MonoTime now);
  // Measures the lag, and the stages of a transaction that is complete.
  void OnHandled(const pgoutput::XLogData& data, MonoTime now);
  void MeasureStages(WallTime committed, WallTime sent);
  // Sends a status update if one is due, and detects a server that is silent or shutting down.
  absl::Status Report(MonoTime now);
  // The recorder limits it. It does not grow before the history is known to be the recorded one,
  // and before a sink has claimed its transactional id.
  Lsn confirmable() const;
  // Confirms confirmable(), and nothing beyond it.
  absl::Status SendStatus(MonoTime now, FeedbackCause cause);
  // `moved`: at least one message was handled in this turn.
  void SetWait(Wait wait, bool moved, MonoTime now);
  void SetBlockingError(const absl::Status& blocking_error, MonoTime now);
  // Whether nothing may be published because progress cannot be recorded: it could not be
  // confirmed.
  bool RecordIsRefused() const;
  // Stops handling while it is so, whether or not a message waits.
  void CheckRecorder(MonoTime now);
  // Whether a turn should try to handle a message again.
  bool MayHandle(MonoTime now);
  // The visibility gate; true without one.
  bool Admits(std::string_view payload, MonoTime now);
  // Whether the in-flight window has room, or none is needed.
  bool HasRoom();
  // Whether the received messages have been held for long enough.
  bool BurstComplete(MonoTime now) const;
  // Whether pending messages that produce records wait for the acknowledgement of earlier ones.
  bool HoldsBack(MonoTime now) const;
  // Whether the loop may sleep until the next row although reports arrive.
  bool ReportsMayWait(MonoTime now) const;
  // Why a transaction is held until it is visible (WR-2014); OK while none is held.
  absl::Status unseen() const;
  // Age of the commit that is being handled, by the server's clock; 0 when idle. Negative if that
  // clock was set back.
  Micros lag() const;
  // By message type, looked up once each.
  prometheus::Counter& MessageCounter(char type);

  Parts parts_;
  Feedback feedback_;
  InFlightWindow window_;
  Pacer pacer_;
  std::optional<VisibilityGate> gate_;
  Lsn started_at_;   // the position of the stream
  int backend_pid_;  // of the server process that sends the stream
  MonoTime last_turn_;
  MonoTime last_handled_;  // a message other than a keepalive; the epoch before the first
  Micros last_lag_{0};     // of the message handled at last_handled_
  MonoTime read_at_;       // earliest time of the next read
  bool at_rest_ = false;
  bool claimed_;
  std::optional<MonoTime> burst_since_;  // arrival of the oldest pending message
  size_t announced_ = 0;                 // pending messages whose topics are announced
  Wait wait_ = Wait::kNone;              // of the next message
  std::optional<MonoTime> stalled_since_;
  absl::Status blocking_error_;
  // A blocking error is retried at that time; the wait doubles while the error stays the same.
  MonoTime retry_blocked_at_;
  Micros blocked_retry_wait_{0};
  // By type, an ASCII letter.
  std::array<prometheus::Counter*, 128> message_counters_{};
};

}  // namespace walrelay
