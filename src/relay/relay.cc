#include "relay/relay.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "base/log.h"
#include "stream/progress_record.h"
#include "stream/stored_events.h"
#include "walrelay/config.h"
#include "walrelay/error.h"

namespace walrelay {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

// The first attempt after a broken connection comes soon: most breaks are a failover or a restarted
// pooler.
constexpr Micros kFirstReconnect = milliseconds(100);
constexpr Micros kLongestReconnect = seconds(10);
// A stream that fails at the same position: each attempt makes the server decode the same WAL
// again.
constexpr Micros kFirstStuckRetry = seconds(10);
constexpr Micros kLongestStuckRetry = seconds(120);
// No outage: the brokers answered, and the records must only be read again.
constexpr Micros kStepRetry = milliseconds(250);  // before the records are sent one at a time
// A stop waits for the server to read the last status update; without an answer the events are
// repeated, not lost.
constexpr Micros kFinishTimeout = seconds(2);
constexpr Micros kBusyFinishTimeout = milliseconds(200);  // with a busy server
// The loop notices the signal within its next turn.
constexpr Micros kAfterCancelling = milliseconds(100);
// Two short queries a second, the price of a takeover within about half a second.
constexpr Micros kSlotPollInterval = milliseconds(500);
// A check makes a connection, and usually nothing has changed since the last one.
constexpr Micros kGapRecheckInterval = seconds(10);
// A copy of a short text from librdkafka's memory.
constexpr Micros kClusterCheckInterval = milliseconds(100);
// While the slot exceeds the server's limit, each connection decodes the WAL from the restart
// position again.
constexpr Micros kClosedForSlotTimeout = std::chrono::minutes(2);

}  // namespace

Relay::Relay(Parts parts, Router router)
    : parts_(std::move(parts)),
      sink_({.make = parts_.make_sink,
             .max_batch_bytes = parts_.config.limits().max_batch_bytes,
             .transaction_timeout = parts_.config.limits().transaction_timeout,
             .clock = parts_.clock,
             .metrics = parts_.metrics,
             .seed = parts_.seed + 1}),
      gaps_(parts_.config.source, parts_.clock, tracker_),
      deliveries_(parts_.metrics, parts_.config.metrics.max_topics),
      // Runs inside monitor_.Turn(), on the relay's thread.
      sender_(sink_, tracker_, parts_.metrics, parts_.clock,
              [this](const Delivery& delivery, WallTime commit_time) {
                state_.last_delivery = parts_.clock.Now();
                deliveries_.OnDelivered(delivery, commit_time, parts_.clock.WallNow());
                if (parts_.observer) {
                  parts_.observer(delivery, commit_time);
                }
              }),
      recorder_({.source_config = parts_.config.source,
                 .pipeline_config = parts_.config.pipeline,
                 .progress_topic = parts_.config.progress_topic(),
                 .clock = parts_.clock,
                 .topic = parts_.progress,
                 .sink = sink_,
                 .tracker = tracker_,
                 .gaps = gaps_,
                 .metrics = parts_.metrics,
                 .seed = parts_.seed + 3}),
      pipeline_(parts_.config, std::move(router), tracker_, sender_, parts_.metrics),
      committer_({parts_.config.pipeline, parts_.config.limits().transaction_timeout, tracker_,
                  pipeline_, recorder_, sink_}),
      monitor_({parts_.clock, sink_, sender_, recorder_, tracker_, parts_.board, state_,
                parts_.metrics}),
      connector_({parts_.config.source, parts_.config.pipeline, parts_.source, tracker_, gaps_,
                  recorder_, state_}),
      reporter_(parts_.metrics, parts_.board, deliveries_),
      reconnect_backoff_(kFirstReconnect, kLongestReconnect, parts_.seed),
      stuck_backoff_(kFirstStuckRetry, kLongestStuckRetry, parts_.seed + 2) {
  state_.retry_at = state_.last_delivery = state_.disconnected_since = parts_.clock.Now();
  if (parts_.memory) {
    gaps_.Restore(*parts_.memory);
    connector_.Restore(*parts_.memory);
    noted_frontier_ = tracker_.frontier();
    started_ = true;
  }
}

// The order matters: reports move the frontier before the session confirms it, and a drain that is
// complete ends before the session reads more.
Wakeup Relay::Turn() {
  WR_CHECK((session_ != nullptr) == (state_.phase == Phase::kStreaming),
           "a session exists exactly while streaming");
  const MonoTime now = parts_.clock.Now();
  parts_.board.Beat(now);
  StopIfSuspended(now);
  DrainReports(now);
  if (state_.phase != Phase::kStreaming) {
    committer_.TurnWithoutStream(now);
  }
  if (state_.draining) {
    ContinueDrain(now);
  }
  if (!state_.finished) {
    switch (state_.phase) {
      case Phase::kDisconnected:
        // KafkaRecovered() ends the pause that OnSlotAlmostLost() has set.
        if ((now >= state_.retry_at || KafkaRecovered()) &&
            now >= committer_.earliest_connection()) {
          Connect(now);
          awake_at_ = parts_.clock.Now();  // a connection attempt may take long
        }
        break;
      case Phase::kWaitingForSlot:
        if (now >= state_.retry_at) {
          WaitForSlot(now);
          awake_at_ = parts_.clock.Now();
        }
        break;
      case Phase::kStreaming: {
        monitor_.CreateIfDue(now);
        // Before the session takes the room that reports have made.
        if (!committer_.enabled()) {
          RecordProgress(now);
        } else if (committer_.awaits_room()) {
          committer_.Turn(now, *session_, state_.draining);
        }
        absl::Status status = CheckKafka(now);
        if (status.ok()) {
          status = session_->Turn(state_.draining && MayStopReading());
        }
        if (status.ok()) {
          committer_.Turn(now, *session_, state_.draining);
          RecordProgress(now);  // what the session has read may have moved the frontier
        }
        // The suspension may have happened in this turn; a connection lost because of it would hide
        // it.
        if (!StopIfSuspended(parts_.clock.Now()) && !status.ok()) {
          OnSessionError(status, now);
        }
        break;
      }
    }
  }
  // Operators see the result of every turn, also of one that failed.
  parts_.metrics.FlushLatencies();
  if (reporter_.OnTurn(now, state_.finished)) {
    NoteProgress();
    reporter_.Publish(View(now));
  }
  return NextWakeup(parts_.clock.Now());
}

// Until the history is known, positions that were read may be of another one. With transactions the
// committer records progress.
void Relay::RecordProgress(MonoTime now) {
  if (!committer_.enabled() && pipeline_.history_known()) {
    recorder_.Turn(now, {tracker_.frontier(), tracker_.last_published(), {}}, session_->requested(),
                   /*at_once=*/state_.draining);
  }
}

// --- the sink

// While nothing is in flight, time without a delivery is not a stall.
void Relay::DrainReports(MonoTime now) {
  if (tracker_.records_in_flight() == 0) {
    state_.last_delivery = now;
  }
  const bool topic_awaited = session_ != nullptr && session_->waits_for_topic();
  WR_CHECK(!topic_awaited || session_->stalled_since(),
           "a stream that waits for a topic is stalled");
  const auto restart = monitor_.Turn(now, topic_awaited ? session_->stalled_since() : std::nullopt);
  if (restart) {
    RestartFromFrontier(*restart, now);
  }
}

// Before anything more is confirmed. Between two checks of the cluster, and until its first answer
// after a reconnection, records may be acknowledged by another one. Until it is known, each turn
// asks: the first acknowledgement comes after the first answer.
absl::Status Relay::CheckKafka(MonoTime now) {
  if (recorder_.topic_replaced()) {
    return Error(ErrorCode::kProgressReplaced, fmt::format("topic {}", recorder_.topic()));
  }
  if (now < check_cluster_at_ || !sink_.exists()) {
    return absl::OkStatus();
  }
  const std::string id = sink_.ClusterId();
  check_cluster_at_ = id.empty() ? now : now + kClusterCheckInterval;
  return gaps_.OnCluster(id);
}

// The only recovery when records were lost with their sink. A failed record that is produced
// again would follow its successors; therefore all records in flight are abandoned and read again
// from the frontier.
void Relay::RestartFromFrontier(const Restart& restart, MonoTime now) {
  WR_CHECK(!restart.cause.ok(), "a restart has a cause");
  const absl::Status& cause = restart.cause;
  NoteProgress();
  if (HasCode(cause, ErrorCode::kBatchTooLarge)) {
    sink_.ShrinkBatches();
  }
  LogStatus(LogLevel::kWarning, "producer_restarted", cause,
            {{"in_flight", tracker_.records_in_flight()}, {"frontier", tracker_.frontier()}});
  parts_.board.NoteError(cause, parts_.clock.WallNow());
  // With single_step, the row is named when its record is refused again, alone.
  if (ReactionTo(cause) == Reaction::kBlocked && !restart.single_step) {
    state_.blocked_error = cause;
  }
  // SetSettledBefore(): after the session has ended, and before the tracker forgets which records
  // were in flight.
  monitor_.Destroy();
  EndSession();
  sender_.SetSettledBefore(committer_.enabled() ? recorder_.settled_before()
                                                : restart.settled_before);
  pipeline_.OnRestarting();
  state_.oldest_unread = state_.oldest_unpublished;
  tracker_.Reset();
  gaps_.SaveResumeState();
  parts_.source.Close();
  state_.phase = Phase::kDisconnected;
  state_.last_error =
      restart.single_step ? Error(ErrorCode::kProducerFailed, MessageOf(cause)) : cause;
  state_.disconnected_since = now;
  state_.retry_at = now + (restart.single_step ? kStepRetry : sink_.NextPause());
  WR_CHECK(tracker_.records_in_flight() == 0 && tracker_.resume() == tracker_.frontier(),
           "everything after the frontier is read again");
}

void Relay::CarryPositions(const SourceInfo& info, const StartDecision& decision) {
  if (!parts_.config.pipeline.resumes_from_topics()) {
    return;
  }
  WalHistory history =
      HistoryOf(PipelineIdOf(parts_.config.source, parts_.config.pipeline, info.server.database),
                info.server, gaps_.generation(), parts_.routing);
  history.unpublished = std::max(
      decision.position, std::min(decision.published_before, decision.settled_before.commit_lsn));
  sink_.SkipStored(history);
  sender_.CarryPositions(history, parts_.config.on_error.dead_letter_topic);
}

// Where the stream begins at the slot's position, a new sink reads the ends of the topics
// again, or claims the transactional id again. Records in flight of the old sink may not
// overtake, or duplicate, those of another history: the sink goes with them.
void Relay::DropSink(bool keep_in_flight) {
  WR_CHECK(session_ == nullptr, "a producer is replaced here only between sessions");
  const bool once_only = parts_.config.pipeline.resumes_from_topics() || committer_.enabled();
  if (keep_in_flight || (tracker_.records_in_flight() == 0 && !once_only)) {
    return;
  }
  monitor_.Destroy();
  // The discarded records are read again, also if this attempt fails and the next one finds the
  // history in which they were in flight.
  if (tracker_.records_in_flight() > 0) {
    tracker_.Reset();
    gaps_.SaveResumeState();
  }
}

// Progress, not a mere connection, ends a series of failures. Each progress counts only once;
// otherwise progress from before an outage would reset the back-off repeatedly.
void Relay::NoteProgress() {
  if (state_.stuck && tracker_.resume() > state_.stuck->transaction.commit_lsn) {
    state_.stuck.reset();  // it could be read after all
  }
  if (tracker_.frontier() > noted_frontier_) {
    noted_frontier_ = tracker_.frontier();
    reconnect_backoff_.Reset();
    sink_.ResetBackoff();
    stuck_backoff_.Reset();
    connector_.OnProgress();
    state_.blocked_error = absl::OkStatus();
    sender_.OnFrontier(noted_frontier_);
  }
}

// --- the stream

void Relay::Connect(MonoTime now) {
  WR_CHECK(session_ == nullptr, "one session exists at a time");
  closed_for_slot_.reset();
  const absl::Status status = OpenAndStart();
  if (!status.ok()) {
    OnConnectError(status, now);
    return;
  }
  WR_CHECK(session_ != nullptr && !gaps_.held(), "a stream has a session, and no gap is held");
  // Only now is the process the relay of this slot; errors up to here are those of a start.
  state_.phase = Phase::kStreaming;
  state_.has_streamed = true;
  state_.stood_by = false;
  started_ = true;
  state_.last_error = absl::OkStatus();
  // The stream began at that frontier: it is not its progress.
  noted_frontier_ = tracker_.frontier();
}

// The sink comes before START_REPLICATION: from then on the server sends, and it disconnects a
// client that does not read. A Kafka configuration that is invalid must not cost a stream. But a
// sink that claims a transactional id comes afterwards: an instance that does not get the slot
// must not fence the one that has it.
absl::Status Relay::OpenAndStart() {
  const Lsn frontier = tracker_.frontier();
  const absl::StatusOr<SourceInfo> info = connector_.Open();
  // An accepted gap may have moved the tracker to another position, which is not progress.
  if (gaps_.TakeApplied()) {
    state_.accepted_gap = std::exchange(reported_gap_, "");
    state_.blocked_error = absl::OkStatus();
    state_.stuck.reset();
    connector_.ForgetFailures();
    noted_frontier_ = tracker_.frontier() != frontier ? tracker_.frontier() : noted_frontier_;
  }
  WR_RETURN_IF_ERROR(info.status());
  gaps_.SaveResumeState(pipeline_.unfinished());
  const bool skipped = SkipIfAccepted(*info);
  WR_ASSIGN_OR_RETURN(StartDecision decision, DecideStart(gaps_.last_stream(), *info));
  if (decision.timeline_switched) {
    connector_.ForgetSkip();
  }
  decision.position = std::max(decision.position, connector_.skip_to());
  decision.keep_in_flight = decision.keep_in_flight && !skipped;
  CarryPositions(*info, decision);
  DropSink(decision.keep_in_flight);
  if (!sink_.exists() && !committer_.enabled()) {
    WR_RETURN_IF_ERROR(sink_.Create());
  }
  WR_CHECK(decision.keep_in_flight || tracker_.records_in_flight() == 0,
           "no record of another history is in flight");
  WR_RETURN_IF_ERROR(connector_.Start(*info, decision));
  if (!sink_.exists()) {
    sink_.UseTransactions(
        TransactionalIdOf(parts_.config.source, parts_.config.pipeline, info->server.database),
        recorder_.address());
    WR_RETURN_IF_ERROR(sink_.Create());
  }
  // The records that were sent one at a time, or were settled, are of a history that has ended.
  // With a record of the timeline before, each start is a switch until the next record is
  // committed.
  const auto& server = info->server;
  const Lsn fork = server.ancestors.empty() ? Lsn() : server.ancestors.back().end;
  std::tuple history(server.system_id, server.timeline, fork, gaps_.generation());
  const bool continues = std::exchange(history_, history) == history && !decision.taken_over;
  if (!decision.keep_in_flight && (!committer_.enabled() || !continues)) {
    sender_.ForgetPositions();
  }
  sender_.SetSettledBefore(decision.settled_before);
  pipeline_.StartSession(info->tables, info->publication_state.before,
                         HistoryCheck(decision.expected, decision.expected_next,
                                      decision.latest_commit, decision.horizons),
                         decision.expected_next);
  session_ = std::make_unique<Session>(
      Session::Parts{parts_.config.source, parts_.config.pipeline, parts_.clock, parts_.source,
                     pipeline_, tracker_, recorder_, parts_.metrics, deliveries_.stages(),
                     parts_.snapshots},
      info->server, decision.position);
  return absl::OkStatus();
}

// An operator has accepted to continue without the rest of a transaction that cannot be read: as
// with any gap, nothing earlier is compared from here on, and rows from before it do not count as
// published.
bool Relay::SkipIfAccepted(const SourceInfo& info) {
  const std::optional<Lsn> position = connector_.AcceptedSkip(info);
  if (!position || !LogHasRoom()) {
    return false;
  }
  connector_.Skip(*position);
  gaps_.ContinueAt(*position, info);
  noted_frontier_ = tracker_.frontier();
  state_.blocked_error = absl::OkStatus();
  return true;
}

// The connection stays open while standing by: a query on it costs less than a connection, and a
// takeover needs no login.
void Relay::WaitForSlot(MonoTime now) {
  WR_CHECK(state_.phase == Phase::kWaitingForSlot, "a standby waits for the slot");
  const auto in_use = connector_.IsSlotInUse();
  if (absl::IsCancelled(in_use.status())) {
    OnConnectError(in_use.status(), now);
  } else if (!in_use.ok()) {
    Disconnect(in_use.status(), now);
  } else if (*in_use) {
    state_.retry_at = now + kSlotPollInterval;
  } else {
    Connect(now);
  }
}

void Relay::OnConnectError(const absl::Status& error, MonoTime now) {
  WR_CHECK(!error.ok() && session_ == nullptr, "no session has started");
  if (absl::IsCancelled(error)) {
    // Asked to stop while connecting; the loop handles the stop request.
    parts_.source.Close();
    state_.retry_at = now + kAfterCancelling;
    return;
  }
  if (ReactionTo(error) != Reaction::kGap && EndsProcess(error)) {
    Finish(error);
    return;
  }
  // A source that opened once has valid settings: what fails afterwards is an outage.
  started_ = started_ || connector_.opened();
  switch (ReactionTo(error)) {
    case Reaction::kGap:
      OnGap(error, now);
      return;
    case Reaction::kStandby:
      if (state_.phase != Phase::kWaitingForSlot) {
        LogInfo("standby", "the slot is in use; standing by", {{"reason", MessageOf(error)}});
      }
      state_.phase = Phase::kWaitingForSlot;
      state_.stood_by = true;
      state_.last_error = error;
      state_.retry_at = now + kSlotPollInterval;
      return;
    case Reaction::kConfiguration:
    case Reaction::kUsage:
    case Reaction::kDefinite:
    case Reaction::kRetry:
    case Reaction::kBlocked:
      break;
  }
  Disconnect(error, now);
}

// A permanent error ends the process, so that it is reported at once, but only at the first start.
// A running relay, or a standby, may encounter secrets that are being rewritten or logins that are
// being rotated.
bool Relay::EndsProcess(const absl::Status& error) const {
  WR_CHECK(!error.ok(), "the process ends for a reason");
  switch (ReactionTo(error)) {
    case Reaction::kConfiguration:
    case Reaction::kUsage:
    case Reaction::kDefinite:
      return !started_;
    case Reaction::kRetry:
    case Reaction::kStandby:
    case Reaction::kBlocked:
      return false;
    case Reaction::kGap:
      return parts_.config.source.on_gap == OnGap::kExit;
  }
  return false;
}

// Progress is noted before the failure is counted: a stream that moved does not fail at the same
// position.
void Relay::OnSessionError(const absl::Status& error, MonoTime now) {
  WR_CHECK(!error.ok() && session_ != nullptr, "a session has failed");
  NoteProgress();
  const absl::Status cause = connector_.CountFailure(error, pipeline_.rows_in_transaction());
  if (ReactionTo(cause) == Reaction::kBlocked) {
    state_.blocked_error = cause;
  }
  if (ReactionTo(cause) == Reaction::kGap) {
    OnGap(cause, now);
    return;
  }
  Disconnect(cause, now);
}

// Publishes and confirms nothing, and checks the source periodically, until an operator has
// accepted the gap.
void Relay::OnGap(const absl::Status& error, MonoTime now) {
  const bool first = reported_gap_.empty();
  gaps_.Hold(error);
  WR_CHECK(gaps_.held().has_value(), "the gap is held from now on");
  const Gap& gap = *gaps_.held();
  // Also one that the record has: this process may be the first that an operator looks at.
  if (std::exchange(reported_gap_, gap.id) != gap.id) {
    LogStatus(LogLevel::kError, "gap", gap.error,
              {{"gap", gap.id},
               {"from", gap.from},
               {"to", gap.to},
               {"in_flight", tracker_.records_in_flight()}});
    parts_.board.NoteError(gap.error, parts_.clock.WallNow());
    reporter_.PublishNext();
  }
  if (state_.phase == Phase::kStreaming) {
    state_.disconnected_since = now;
  }
  // Everything that was read since the frontier is dropped, with the sink: nothing may be
  // published behind a gap.
  monitor_.Destroy();
  EndSession();
  tracker_.Reset();
  sender_.ForgetPositions();
  gaps_.SaveResumeState();
  parts_.source.Close();
  state_.phase = Phase::kDisconnected;
  state_.last_error = gap.error;
  WR_CHECK(!sink_.exists() && tracker_.records_in_flight() == 0,
           "nothing is published behind a gap");
  // The brokers may take long to record the gap. Meanwhile an operator who has read its id in the
  // log can already accept it.
  reporter_.Publish(View(now));
  const bool settled = RecordGap();
  if (EndsProcess(gap.error) && settled) {
    Finish(gap.error);
    return;
  }
  // The first recheck is soon: a check by another connection may have seen a server that is being
  // replaced.
  state_.retry_at = now + (first || !settled ? reconnect_backoff_.Next() : kGapRecheckInterval);
}

// Any other start, also of another instance, may find nothing: the WAL of a restored server grows.
bool Relay::RecordGap() {
  const absl::Status recorded = recorder_.RecordGap();
  if (!recorded.ok() && !absl::IsCancelled(recorded)) {
    LogStatus(LogLevel::kWarning, "gap_not_recorded", recorded, {{"gap", gaps_.held()->id}});
  }
  return !HasCode(recorded, ErrorCode::kTransactionUnended);
}

// Applies at once rather than at the next regular check.
void Relay::AcceptGap(std::string_view id) {
  if (state_.stuck && state_.stuck->gap.id == id && !gaps_.held()) {
    state_.stuck->accepted = true;
    if (state_.phase == Phase::kDisconnected) {
      state_.retry_at = parts_.clock.Now();
    }
    return;
  }
  if (gaps_.Accept(id) && state_.phase == Phase::kDisconnected) {
    state_.retry_at = parts_.clock.Now();
  }
}

// Records in flight stay in flight: Kafka is not affected, and the next stream resumes after them.
void Relay::Disconnect(const absl::Status& error, MonoTime now) {
  WR_CHECK(!error.ok(), "a stream ends for a reason");
  WR_CHECK(!state_.finished, "a relay that has finished does not reconnect");
  if (committer_.enabled() && sender_.AwaitsReport()) {
    // Its row would be sent again, into the same transaction or after it.
    RestartFromFrontier({.cause = error, .settled_before = std::nullopt}, now);
    return;
  }
  const bool stuck = HasCode(error, ErrorCode::kStreamStuck);
  const Micros wait = stuck ? stuck_backoff_.Next() : reconnect_backoff_.Next();
  LogStatus(LogLevel::kWarning, "disconnected", error,
            {{"frontier", tracker_.frontier()},
             {"in_flight", tracker_.records_in_flight()},
             {"retry_in_ms", wait.count() / 1000}});
  parts_.board.NoteError(error, parts_.clock.WallNow());
  parts_.metrics.replication_disconnects[ToString(CodeOf(error))].Increment();
  if (state_.phase == Phase::kStreaming) {
    state_.disconnected_since = now;
  }
  EndSession();
  parts_.source.Close();
  state_.phase = Phase::kDisconnected;
  state_.last_error = error;
  state_.retry_at = now + wait;
}

// Also a standby closes its connection: the server waits for every walsender, streaming or not.
void Relay::OnServerShuttingDown() {
  if (state_.phase != Phase::kDisconnected && !state_.draining) {
    CloseStreamGracefully(Error(ErrorCode::kPostgresShuttingDown, "closing the stream"),
                          kBusyFinishTimeout);
  }
}

// The next connection decides whether to drop the slot, from the state that it finds.
void Relay::OnRetainedLimit() {
  if (state_.phase == Phase::kStreaming && !state_.draining) {
    CloseStreamGracefully(
        Error(ErrorCode::kSlotAtRisk,
              "the slot has reached source.max_retained_wal; reconnecting to drop it"),
        kFinishTimeout);
  }
}

// A walsender that cannot send does not exit either, and the checkpoint that waits for it blocks
// the whole server. While the stream is read, its final message gets through.
void Relay::OnSlotAlmostLost() {
  if (state_.phase == Phase::kStreaming && session_->stalled_since() && !state_.draining) {
    CloseStreamGracefully(
        Error(ErrorCode::kSlotAtRisk,
              "the slot exceeds max_slot_wal_keep_size; closing the stream, because the next "
              "checkpoint would wait for a walsender that cannot send"),
        kBusyFinishTimeout);
    closed_for_slot_ = ClosedForSlot{deliveries_.acknowledged(), sink_.health().reachable};
    state_.retry_at = parts_.clock.Now() + kClosedForSlotTimeout;
  }
}

// Whether to reconnect before the pause is over: Kafka has become reachable, or has acknowledged a
// record.
bool Relay::KafkaRecovered() const {
  if (!closed_for_slot_ || !sink_.exists()) {
    return false;
  }
  WR_CHECK(deliveries_.acknowledged() >= closed_for_slot_->acknowledged,
           "acknowledgements are only added");
  const bool answers = !closed_for_slot_->kafka_reachable && sink_.health().reachable;
  return answers || deliveries_.acknowledged() > closed_for_slot_->acknowledged;
}

// Closes the stream gracefully, so that acknowledged events are confirmed. Best effort: the server
// may be too busy to read the status update.
void Relay::CloseStreamGracefully(const absl::Status& reason, Micros timeout) {
  WR_CHECK(state_.phase != Phase::kDisconnected, "there is a connection to close");
  if (session_ != nullptr) {
    (void)session_->Finish(timeout);
  }
  Disconnect(reason, parts_.clock.Now());
}

// From a contradiction on nothing is confirmed, until the next connection has checked the
// publication.
void Relay::OnPublicationSeen(const PublicationState& seen, MonoTime begun) {
  const bool others_slot = state_.phase == Phase::kWaitingForSlot;
  if (!gaps_.Contradicts(seen, begun, others_slot) || state_.phase != Phase::kStreaming ||
      state_.draining || !gaps_.Dispute(seen.identity)) {
    return;
  }
  const MonoTime now = parts_.clock.Now();
  Disconnect(Error(ErrorCode::kPublicationChanged,
                   "reconnecting to check it again before confirming anything"),
             now);
  state_.retry_at = now;
}

// A server that is frozen, or cut off from the others, keeps its connections: the stream would wait
// for it, and publish what it still sends, although another server was promoted.
void Relay::OnXidsRead(const XidReading& xids, MonoTime begun) {
  recorder_.OnXidsRead(xids, begun);
  connector_.OnPrimarySeen(xids.system_id, xids.timeline);
  const auto& stream = gaps_.last_stream();
  if (state_.phase != Phase::kStreaming || state_.draining || !stream) {
    return;
  }
  if (const absl::Status newest = connector_.CheckNewest(stream->system_id, stream->timeline);
      !newest.ok()) {
    const MonoTime now = parts_.clock.Now();
    Disconnect(newest, now);
    state_.retry_at = now;
  }
}

// In this order: the oldest event may wait in the session, the pipeline knows the open transaction,
// and the gap detector saves what the tracker holds after the open transaction was abandoned.
void Relay::EndSession() {
  if (session_ != nullptr) {
    state_.oldest_unpublished = OldestUnpublished();
    state_.oldest_unread = pipeline_.in_transaction() ? pipeline_.last_commit_time() : std::nullopt;
    committer_.OnStreamEnding(parts_.clock.Now());
  }
  pipeline_.EndSession();
  recorder_.OnStreamEnded();
  tracker_.AbandonOpen();
  gaps_.SaveResumeState();
  session_.reset();
  WR_CHECK(!tracker_.in_transaction(), "no transaction is open between sessions");
}

// A process that was suspended for longer than the server's timeout has lost its slot, and another
// instance may be relaying. Records in flight must not be sent concurrently with that instance.
// The monotonic clock continues while the machine is suspended; that shows the suspension
// afterwards.
bool Relay::StopIfSuspended(MonoTime now) {
  const Micros longest = std::max<Micros>(parts_.config.source.wal_sender_timeout, seconds(10));
  const Micros away = now - std::exchange(awake_at_, now);
  WR_CHECK(away >= Micros(0), "time does not move backwards");
  if (state_.phase != Phase::kStreaming || away <= longest) {
    return false;
  }
  const auto away_s = std::chrono::duration_cast<seconds>(away).count();
  RestartFromFrontier({.cause = Error(ErrorCode::kSuspended, fmt::format("for {} s", away_s)),
                       .settled_before = std::nullopt},
                      now);
  return true;
}

// --- Draining

// Called again, it does nothing: the deadline is that of the first request.
void Relay::Drain() {
  if (!state_.draining) {
    state_.draining = true;
    drain_deadline_ = parts_.clock.Now() + parts_.config.pipeline.drain_timeout;
    LogInfo("draining", "draining: waiting for acknowledgements before stopping",
            {{"in_flight", tracker_.records_in_flight()}});
  }
}

// Nothing more is read after the open transaction. A row that blocks will not be published while
// the process stops, so it is not waited for.
void Relay::ContinueDrain(MonoTime now) {
  WR_CHECK(state_.draining, "a drain was requested");
  if (state_.phase != Phase::kStreaming) {
    // Nothing can be confirmed without a stream, nor recorded, because another instance may have
    // the slot by now: what is not confirmed is published again.
    Finish(absl::OkStatus());
    return;
  }
  WR_CHECK(session_ != nullptr, "a stream has a session");
  const bool acknowledged = tracker_.records_in_flight() == 0;
  const bool blocked = !session_->blocking_error().ok();
  const bool recorded =
      (recorder_.up_to_date() && !recorder_.in_flight()) || !recorder_.error().ok();
  const bool complete =
      acknowledged && recorded && (blocked || (!pipeline_.in_transaction() && MayStopReading()));
  if (!complete && now < drain_deadline_) {
    return;
  }
  if (!complete) {
    const std::string_view waits_for = session_->waits_for();
    LogStatus(LogLevel::kWarning, "drain_timeout",
              Error(ErrorCode::kDrainTimeout,
                    fmt::format("{} records are still in flight{}{}", tracker_.records_in_flight(),
                                waits_for.empty() ? "" : "; publishing waits for ", waits_for)));
  }
  const absl::Status finished = session_->Finish(kFinishTimeout);
  LogInfo("stopped",
          finished.ok() ? "stopped; all acknowledged events are confirmed"
                        : "stopped; the server did not acknowledge the last status update",
          {{"confirmed", recorder_.confirmable()}, {"in_flight", tracker_.records_in_flight()}});
  EndSession();
  Finish(absl::OkStatus());
}

// Records in flight are dropped with the sink; without confirmation they are read again at the
// next start. Rows acknowledged since the last stream are not read again if a successor starts.
void Relay::Finish(const absl::Status& result) {
  gaps_.SaveResumeState();
  parts_.source.Close();
  session_.reset();
  monitor_.Destroy();
  state_.phase = Phase::kDisconnected;
  state_.finished = true;
  state_.result = result;
}

SourceMemory Relay::memory() const {
  SourceMemory memory = gaps_.memory();
  connector_.AddTo(memory);
  return memory;
}

// --- the status

// The earliest of what is in flight, what waits to be produced, and what must be read again.
std::optional<WallTime> Relay::OldestUnpublished() const {
  std::optional<WallTime> oldest = tracker_.oldest_commit_time();
  const auto count = [&](const std::optional<WallTime>& commit) {
    // std::optional orders nullopt before every value, so the maximum is the one that exists.
    oldest = commit && oldest ? std::min(oldest, commit) : std::max(oldest, commit);
  };
  if (session_ == nullptr) {
    count(state_.oldest_unread);
  } else if (session_->stalled_since() && pipeline_.in_transaction()) {
    count(pipeline_.last_commit_time());
  }
  return oldest;
}

RelayView Relay::View(MonoTime now) const {
  const Config& config = parts_.config;
  const SinkHealth health = sink_.health();
  const bool skips_origins = config.source.origin == OriginFilter::kNone;
  const auto skipped = static_cast<uint64_t>(parts_.metrics.events_skipped["origin"].Value());
  RelayView view{.now = now,
                 .wall = parts_.clock.WallNow(),
                 .phase = state_.phase,
                 .has_streamed = state_.has_streamed,
                 .stood_by = state_.stood_by,
                 .draining = state_.draining,
                 .finished = state_.finished,
                 .result = state_.result,
                 .last_error = state_.last_error,
                 .blocked_error = state_.blocked_error,
                 .retry_at = state_.retry_at,
                 .disconnected_since = state_.disconnected_since,
                 .last_delivery = state_.last_delivery,
                 .accepted_gap = state_.accepted_gap,
                 .acknowledged = deliveries_.acknowledged(),
                 .last_acknowledged = deliveries_.last_acknowledged(),
                 .oldest_commit = OldestUnpublished(),
                 .skipped_origin_rows = skips_origins ? std::optional(skipped) : std::nullopt,
                 .records_in_flight = tracker_.records_in_flight(),
                 .bytes_in_flight = tracker_.bytes_in_flight(),
                 .transactions_in_flight = tracker_.transactions_in_flight(),
                 .max_in_flight_records = config.pipeline.max_in_flight_records,
                 .max_in_flight_bytes = config.pipeline.max_in_flight_bytes,
                 .received = tracker_.received(),
                 .frontier = tracker_.frontier(),
                 .kafka_trouble = health.trouble,
                 .kafka_reachable = health.reachable,
                 .stall = monitor_.stall(),
                 .slot = parts_.board.slot(),
                 .sampler = parts_.board.sampler(),
                 .tables = parts_.board.tables()};
  AddParts(view);
  return view;
}

void Relay::AddParts(RelayView& view) const {
  if (const auto& held = gaps_.held()) {
    view.held = {*held, gaps_.accepted(), gaps_.error(), gaps_.checks()};
  } else {
    view.proof = recorder_.Proof(view.now);
  }
  if (state_.stuck) {
    view.stuck = {state_.stuck->gap, state_.stuck->accepted};
  }
  if (session_ != nullptr) {
    view.stream = session_->View();
  }
  if (parts_.config.pipeline.records_progress()) {
    view.record = recorder_.View();
  }
  if (committer_.enabled()) {
    view.transactions = {monitor_.transactions(), committer_.committing(), committer_.opened()};
  }
}

// An upper bound of one second in every state: the beat on the board is what the liveness probe
// checks.
Wakeup Relay::NextWakeup(MonoTime now) const {
  WR_CHECK(state_.finished || (session_ != nullptr) == (state_.phase == Phase::kStreaming),
           "a session exists exactly while streaming");
  if (state_.finished) {
    return {.at = now};
  }
  Wakeup wakeup = state_.phase == Phase::kStreaming
                      ? session_->NextWakeup()
                      : Wakeup{.at = std::max(state_.retry_at, committer_.earliest_connection())};
  // A failing sink is watched closely: its last reports decide what must be read again. So is
  // one whose transaction cannot be committed: consumers wait for its end.
  if (sink_.failed() || monitor_.refused()) {
    wakeup.at = std::min(wakeup.at, now + milliseconds(100));
  }
  if (state_.phase == Phase::kStreaming) {
    wakeup.at = std::min(wakeup.at, committer_.enabled() ? committer_.NextDue(now, *session_)
                                                         : recorder_.NextDue(now));
    wakeup.at = std::min(wakeup.at, sink_.retry_at().value_or(wakeup.at));
  }
  // While draining, data of further transactions does not wake the loop: it is not read.
  if (state_.draining) {
    wakeup.at = std::min(wakeup.at, drain_deadline_);
    wakeup.source_readable = wakeup.source_readable && pipeline_.in_transaction();
    wakeup.producer_readable = true;  // the drain waits for the last report
  }
  wakeup.at = std::min(wakeup.at, now + seconds(1));
  return wakeup;
}

}  // namespace walrelay
