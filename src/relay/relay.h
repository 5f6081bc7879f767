// Relay: keeps the stream running through failures of Postgres and of Kafka.
//
// A state machine that one thread runs in turns. It connects, decides where to start, runs a
// session, and handles each failure in one of three ways. If only the Postgres connection was lost,
// it reconnects after the records in flight. If the sink failed with records in flight, it
// starts over: sink and session are closed, and both restart at the frontier. If the sink
// failed and no record was lost, the sink is replaced and the session continues. With
// exactly-once delivery, what was not committed is lost with the sink, and the record of
// progress shows where to start over. When events may be missing, it holds (or exits, with
// source.on_gap = "exit") until an operator has accepted the gap. It finishes when it was drained,
// or when it cannot start at all.
//
// The relay owns the tracker and the objects around the stream: GapDetector and SlotConnector
// (whether and where it may start), Session, Pipeline and RecordSender (the stream itself),
// ReplaceableSink; and what shows them to operators, DeliveryMeter and StatusReporter. The
// source belongs to the caller. Its methods must be called on its one thread; other threads read
// the StatusBoard and the metrics.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>

#include "absl/status/status.h"
#include "base/backoff.h"
#include "metrics/metrics.h"
#include "publish/record_sender.h"
#include "publish/replaceable_sink.h"
#include "relay/gap_detector.h"
#include "relay/pipeline.h"
#include "relay/progress_recorder.h"
#include "relay/run_state.h"
#include "relay/session.h"
#include "relay/sink_monitor.h"
#include "relay/slot_connector.h"
#include "relay/transaction_committer.h"
#include "route/router.h"
#include "status/delivery_meter.h"
#include "status/relay_view.h"
#include "status/status_board.h"
#include "status/status_reporter.h"
#include "stream/ack_tracker.h"
#include "walrelay/clock.h"
#include "walrelay/config/source.h"
#include "walrelay/progress.h"
#include "walrelay/replication_source.h"
#include "walrelay/sink.h"

namespace walrelay {

struct Config;

// States, in RunState: disconnected (waits for retry_at), waiting for the slot (connected, another
// process reads it) and streaming (a session exists). finished is the end of all three.
class Relay {
 public:
  // Called for each acknowledged event, with the time of its commit, on the relay's thread, within
  // Turn(). It must not call the relay.
  using DeliveryObserver = std::function<void(const Delivery&, WallTime commit_time)>;

  struct Parts {
    const Config& config;  // validated; must not change
    const Clock& clock;
    ReplicationSource& source;  // opened and closed by the relay only
    SinkMaker make_sink;        // called on the relay's thread
    Metrics& metrics;
    StatusBoard& board;
    DeliveryObserver observer;            // may be empty
    uint64_t seed = 0;                    // for the jitter of the back-off
    SnapshotSource* snapshots = nullptr;  // with source.wait_visible
    ProgressTopic* progress = nullptr;    // unless pipeline.progress is "off"
    uint32_t routing = 0;                 // RoutingDigest(), with pipeline.mode "topics"
    // The memory of the relay that this one replaces in the same process, after a change of the
    // configuration: an error that would end a first start is then retried.
    std::optional<SourceMemory> memory;
  };

  // The objects that `parts` refers to must outlive the relay. Nothing is connected before the
  // first Turn().
  Relay(Parts parts, Router router);

  // Runs one turn; blocks only while connecting. Call it again at the Wakeup.
  // Everything else that takes long happens in other threads (Kafka), or in steps (the stream).
  // Once finished() is true, the Wakeup has no meaning.
  Wakeup Turn();

  // SIGTERM: finish the open transaction, wait for the records in flight, confirm, stop. Takes
  // effect in the next turn; a further call changes nothing, not even the deadline.
  void Drain();

  // Another connection observed that the server is shutting down. The server waits for its
  // walsenders; without Kafka the relay's walsender would not finish. Blocks for a fraction of a
  // second at most. Ignored without a connection, and while draining.
  void OnServerShuttingDown();

  // With source.on_retained_limit = "drop_slot": another connection observed that the slot retains
  // as much WAL as it may. Ignored on a standby instance: the instance that reads the slot drops
  // it. Closes the stream, which blocks for two seconds at most; the next connection drops the slot
  // if it still exceeds the limit.
  void OnRetainedLimit();

  // Another connection read the publication; the read began at `begun`. A change that may hide rows
  // ends the stream, so that nothing more is confirmed, and the next connection decides. The same
  // reading ends it only once.
  void OnPublicationSeen(const PublicationState& seen, MonoTime begun);

  // Another connection read these xids, from the server that it reached, not before `begun`. If
  // that server is a newer primary than the one that is streamed from, the stream ends: WR-2207.
  void OnXidsRead(const XidReading& xids, MonoTime begun);

  // An operator accepts that events are missing: applies to the held gap, if `id` still identifies
  // it. Publishing continues from the slot's position at the next check, if that finds no other
  // gap.
  void AcceptGap(std::string_view id);

  // Another connection observed that the slot exceeds the server's limit. The next checkpoint ends
  // the slot's walsender, and waits for its exit without a timeout: if the client does not read,
  // the checkpoint does not complete. Ignored while the stream is read, and while draining.
  void OnSlotAlmostLost();

  bool finished() const { return state_.finished; }
  // Why the relay finished; OK after a drain, and as long as it has not finished.
  const absl::Status& result() const { return state_.result; }

  // Returns what is known of the source, for the relay that replaces this one. REQUIRES:
  // finished().
  SourceMemory memory() const;

  // For the loop's poll(): -1 without a sink. Each sink has another one, so it must be read
  // before each poll().
  int producer_fd() const { return sink_.poll_fd(); }
  // nullptr: publishing does not wait for visibility.
  const SnapshotSource* snapshots() const { return parts_.snapshots; }

 private:
  using Phase = RunState::Phase;

  // Hands what is published to the recorder, which writes it when it is due.
  void RecordProgress(MonoTime now);
  // Whether records still go to the cluster and the progress topic that they went to before.
  absl::Status CheckKafka(MonoTime now);
  // Takes the sink's reports, and restarts the stream if records were lost.
  void DrainReports(MonoTime now);
  // Destroys the sink unless the next stream may use it: no record of another history may be in
  // its queue.
  void DropSink(bool keep_in_flight);
  // With pipeline.mode = "topics": from now on records carry their positions, and the next
  // sink skips what the topics have.
  void CarryPositions(const SourceInfo& info, const StartDecision& decision);
  // Ends sink and session, and reads again from the frontier.
  void RestartFromFrontier(const Restart& restart, MonoTime now);

  // One attempt: opens the source, decides where to start, starts the stream. REQUIRES: no session
  // exists. After an error none does either, and the next attempt has a time, or the relay has
  // finished.
  void Connect(MonoTime now);
  absl::Status OpenAndStart();
  // True: the stream begins behind a transaction that cannot be read.
  bool SkipIfAccepted(const SourceInfo& info);
  // One check of the slot by a standby. REQUIRES: the phase is kWaitingForSlot.
  void WaitForSlot(MonoTime now);
  // React to the error of an attempt, or of the session: both end without a session.
  void OnConnectError(const absl::Status& error, MonoTime now);
  void OnSessionError(const absl::Status& error, MonoTime now);
  // Holds the gap: drops the records in flight with their sink; the source is checked again at
  // retry_at, or the process ends. REQUIRES: the reaction to `error` is kGap.
  void OnGap(const absl::Status& error, MonoTime now);
  // Adds the gap that is held to the progress record. False while the end of a Kafka transaction,
  // which comes by itself, has to be awaited.
  bool RecordGap();
  // Whether the process exits with this error rather than retrying.
  bool EndsProcess(const absl::Status& error) const;
  // Ends the stream after an error, with the records in flight kept; the next attempt is due after
  // a back-off.
  void Disconnect(const absl::Status& error, MonoTime now);
  // Sends a last status update before it disconnects.
  void CloseStreamGracefully(const absl::Status& reason, Micros timeout);
  bool KafkaRecovered() const;
  // Whether the process was suspended for so long that another instance may have taken over; then
  // it restarts from the frontier.
  bool StopIfSuspended(MonoTime now);
  // Abandons the open transaction, and saves the positions from which the next stream resumes.
  // Allowed without a session; it closes neither the source nor the sink.
  void EndSession();
  // Resets the back-offs if the frontier has moved since the last call.
  void NoteProgress();

  // Whether nothing more has to be read before the relay may end: what was handled is recorded, or
  // can be, and can be confirmed, because the stream has shown that the server has it.
  bool MayStopReading() const {
    return pipeline_.history_known() || (recorder_.enabled() && recorder_.up_to_date());
  }
  // Finishes if nothing is left to wait for, or at the deadline. REQUIRES: a drain was requested.
  void ContinueDrain(MonoTime now);
  // Final: drops the records in flight, and closes the source. Nothing is confirmed by it.
  void Finish(const absl::Status& result);
  // Commit time of the oldest known event that is not acknowledged, including a row that waits to
  // be produced. nullopt: none is known. Without a session: what is in flight, and what the last
  // session left to be read again.
  std::optional<WallTime> OldestUnpublished() const;
  // The state of the relay and its parts, for operators. `now`: of the turn.
  RelayView View(MonoTime now) const;
  // Adds what exists at times only, such as a session or a gap.
  void AddParts(RelayView& view) const;
  // The earliest time at which any of the parts has work to do.
  Wakeup NextWakeup(MonoTime now) const;

  // Construction order: later members refer to earlier ones.
  Parts parts_;
  RunState state_;
  AckTracker tracker_;
  ReplaceableSink sink_;
  GapDetector gaps_;
  DeliveryMeter deliveries_;
  RecordSender sender_;
  ProgressRecorder recorder_;
  Pipeline pipeline_;
  TransactionCommitter committer_;
  SinkMonitor monitor_;
  SlotConnector connector_;
  StatusReporter reporter_;
  std::unique_ptr<Session> session_;

  // Delays connection attempts; progress resets it, a connection does not.
  Backoff reconnect_backoff_;
  Backoff stuck_backoff_;  // of a stream that fails repeatedly at the same position
  // Opened without a permanent error: from then on errors do not end the process.
  bool started_ = false;
  Lsn noted_frontier_;  // at the last connection, or at the last progress since
  // The history of the last stream: system, timeline and where it began, generation. Positions of
  // rows are comparable within it.
  std::tuple<std::string, uint32_t, Lsn, uint64_t> history_;

  // The stream was closed because the slot is being invalidated while nothing is read: the number
  // of acknowledged records at that time, and whether Kafka was reachable.
  struct ClosedForSlot {
    uint64_t acknowledged = 0;
    bool kafka_reachable = false;
  };
  std::optional<ClosedForSlot> closed_for_slot_;

  MonoTime check_cluster_at_;
  std::string reported_gap_;  // the id of the gap in the log; "": none is held
  MonoTime awake_at_;         // when the process last ran a turn
  // The drain, which begins with the first request, ends then.
  MonoTime drain_deadline_;
};

}  // namespace walrelay
