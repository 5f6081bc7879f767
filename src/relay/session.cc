#include "relay/session.h"

#include <algorithm>

#include "base/check.h"
#include "base/log.h"
#include "walrelay/config/pipeline.h"
#include "walrelay/config/source.h"
#include "walrelay/error.h"

namespace walrelay {
namespace {

// Limits of the received messages not yet handled. Enough for a burst; a few thousand rows of
// hundreds of bytes.
// A limit in bytes bounds memory, one in messages bounds the time of a turn.
constexpr size_t kPendingBytes = 512 * 1024;
constexpr size_t kBurstMessages = 4'000;
// A blocked row is retried with these pauses, without end: the cause is fixed outside of this
// process.
constexpr Micros kFirstBlockedRetry = std::chrono::seconds(1);
constexpr Micros kLongestBlockedRetry = std::chrono::seconds(30);
constexpr Micros kIdleTurn = std::chrono::seconds(1);
// The log is drained by another thread, which does not wake this one.
constexpr Micros kLogRetry = std::chrono::milliseconds(50);
// Without messages for this long, the stream has caught up, whatever the last message's lag was.
constexpr Micros kIdle = std::chrono::seconds(1);

// The label of a metric.
std::string_view NameOf(FeedbackCause cause) {
  switch (cause) {
    case FeedbackCause::kRequested:
      return "requested";
    case FeedbackCause::kProgress:
      return "progress";
    case FeedbackCause::kInterval:
      return "interval";
    case FeedbackCause::kPing:
      return "ping";
  }
  return "?";
}

// The message type as the label of a metric.
std::string_view TypeNameOf(char type) {
  switch (static_cast<pgoutput::MessageType>(type)) {
    case pgoutput::MessageType::kBegin:
      return "begin";
    case pgoutput::MessageType::kCommit:
      return "commit";
    case pgoutput::MessageType::kOrigin:
      return "origin";
    case pgoutput::MessageType::kRelation:
      return "relation";
    case pgoutput::MessageType::kType:
      return "type";
    case pgoutput::MessageType::kInsert:
      return "insert";
    case pgoutput::MessageType::kUpdate:
      return "update";
    case pgoutput::MessageType::kDelete:
      return "delete";
    case pgoutput::MessageType::kTruncate:
      return "truncate";
    case pgoutput::MessageType::kMessage:
      return "message";
    case pgoutput::MessageType::kStreamAbort:
      return "stream_abort";
  }
  return "?";
}

// Whether handling a message may produce a record. A commit that was held would delay what is
// confirmed, for nothing.
bool MayProduce(std::string_view message) {
  const auto data = pgoutput::DecodeCopyData(message);
  const auto* xlog_data = data.ok() ? std::get_if<pgoutput::XLogData>(&*data) : nullptr;
  return xlog_data != nullptr &&
         (xlog_data->payload.starts_with(static_cast<char>(pgoutput::MessageType::kInsert)) ||
          xlog_data->payload.starts_with(static_cast<char>(pgoutput::MessageType::kMessage)));
}

}  // namespace

Session::Session(const Parts& parts, const ServerInfo& server, Lsn position)
    : parts_(parts),
      feedback_({.progress_delay = parts.pipeline_config.confirm_interval,
                 .wal_sender_timeout = server.wal_sender_timeout},
                parts.clock.Now()),
      window_(parts.pipeline_config),
      pacer_(server.by_network, parts.pipeline_config.linger),
      started_at_(position),
      backend_pid_(server.backend_pid),
      last_turn_(parts.clock.Now()),
      read_at_(last_turn_),
      claimed_(parts.recorder.claimed()) {
  if (parts.snapshots != nullptr) {
    gate_.emplace(VisibilityGate::Parts{.snapshots = *parts.snapshots,
                                        .metrics = parts.metrics,
                                        .walsender_pid = server.backend_pid,
                                        .answer_timeout = parts.source_config.connect_timeout,
                                        .seed = static_cast<uint64_t>(server.backend_pid)},
                  last_turn_);
  }
}

// Reads before it handles, and reports last: the update then contains what this turn has
// acknowledged.
absl::Status Session::Turn(bool draining) {
  const MonoTime now = parts_.clock.Now();
  if (wait_ == Wait::kWindow) {
    parts_.metrics.backpressure_seconds->Increment(
        std::chrono::duration<double>(now - last_turn_).count());
  }
  WR_CHECK(now >= last_turn_, "time does not move backwards");
  last_turn_ = now;
  claimed_ = claimed_ || parts_.recorder.claimed();
  CheckRecorder(now);
  if (gate_) {
    WR_RETURN_IF_ERROR(gate_->Turn(now));
  }
  const bool between_transactions = draining && !parts_.pipeline.in_transaction();
  if (wait_ != Wait::kNone || between_transactions) {
    feedback_.OnReceived(now);  // while we are not reading, the server cannot be considered silent
  }
  // The drain does not read on: after the open transaction nothing is handled.
  bool nothing_new = false;
  if (MayHandle(now) && now >= read_at_ && !between_transactions && !HoldsBack(now)) {
    WR_ASSIGN_OR_RETURN(const bool arrived, Read(now));
    nothing_new = !arrived;
  }
  WR_RETURN_IF_ERROR(HandlePending(now, draining));
  at_rest_ = (draining && !parts_.pipeline.in_transaction()) ||
             (nothing_new && parts_.source.pending().empty());
  return Report(now);
}

// Bytes without a complete message still prove that the server is alive: a large row may take
// longer than the timeout to arrive.
absl::StatusOr<bool> Session::Read(MonoTime now) {
  const size_t before = parts_.source.pending().size();
  WR_ASSIGN_OR_RETURN(const bool heard, parts_.source.Receive(kPendingBytes));
  if (heard) {
    feedback_.OnReceived(now);
  }
  WR_CHECK(parts_.source.pending().size() >= before, "messages are only added by reading");
  const bool arrived = parts_.source.pending().size() > before;
  if (!arrived) {
    pacer_.OnNothingToRead(now - last_handled_);
  } else {
    burst_since_ = burst_since_.value_or(now);
  }
  read_at_ = now + pacer_.pause();
  return arrived;
}

// Until the history is known, nothing is produced, and with "exactly_once" the records in flight
// are not committed.
bool Session::HasRoom() {
  return window_.Admits(parts_.tracker) || !parts_.pipeline.history_known();
}

// Whether the condition that handling waits for may have been met.
bool Session::MayHandle(MonoTime now) {
  switch (wait_) {
    case Wait::kNone:
    case Wait::kTopic:
    case Wait::kReport:
    // A retry is cheap, and no event tells that it will succeed; each is limited by the wake-ups of
    // the loop.
    case Wait::kLog:
      return true;
    case Wait::kWindow:
    case Wait::kQueue:
      return HasRoom();
    case Wait::kFix:
      return now >= retry_blocked_at_;
    case Wait::kVisibility:
      WR_CHECK(gate_.has_value(), "only a gate holds a transaction");
      return !gate_->waiting();
    case Wait::kProgress:
      return parts_.recorder.error().ok();
  }
  return true;
}

// Whether other sessions can see the transaction that a message begins. True for any other message,
// and for a transaction that was published, in part or completely, or is not published.
// The message is decoded twice, here and in the pipeline; BEGIN is small, and the pipeline stays
// free of visibility.
bool Session::Admits(std::string_view payload, MonoTime now) {
  if (!gate_ || !payload.starts_with(static_cast<char>(pgoutput::MessageType::kBegin))) {
    return true;
  }
  const auto message = pgoutput::Decoder().Decode(payload);
  const auto* begin = message.ok() ? std::get_if<pgoutput::Begin>(&*message) : nullptr;
  return begin == nullptr ||  // the pipeline rejects other messages
         parts_.pipeline.IsSettled(*begin) || gate_->Admits(begin->xid, now);
}

absl::Status Session::unseen() const {
  WR_CHECK(wait_ != Wait::kVisibility || gate_.has_value(), "only a gate holds a transaction");
  return wait_ == Wait::kVisibility ? gate_->reason(parts_.clock.Now()) : absl::OkStatus();
}

// Several messages are handled in a row, so that librdkafka gets several records to put into a
// batch. Once kPendingBytes are pending, no more can be read, and waiting gathers nothing.
bool Session::BurstComplete(MonoTime now) const {
  return parts_.source.pending().size() >= kBurstMessages || parts_.source.more_has_arrived() ||
         (burst_since_ && now - *burst_since_ >= pacer_.hold());
}

// A Kafka transaction already batches records.
bool Session::HoldsBack(MonoTime now) const {
  return !parts_.source.pending().empty() && wait_ == Wait::kNone &&
         !parts_.pipeline_config.exactly_once() &&
         pacer_.in_wave(now, parts_.tracker.records_in_flight() > 0);
}

// The turn of the next row takes the reports that have arrived, and nothing else waits for them in
// this state: a wake-up for each would double those per event. docs/decisions/0027.
bool Session::ReportsMayWait(MonoTime now) const {
  return parts_.tracker.records_in_flight() > 0 && now < pacer_.reports_due() &&
         parts_.pipeline_config.confirm_interval >= Pacer::kReportDelay &&
         !parts_.pipeline_config.exactly_once();
}

absl::Status Session::HandlePending(MonoTime now, bool draining) {
  const std::span<const std::string_view> pending = parts_.source.pending();
  const bool due = wait_ != Wait::kNone ? MayHandle(now) : draining || BurstComplete(now);
  if (pending.empty() || !due) {
    return absl::OkStatus();
  }
  // The records of earlier turns are a wave; all of this turn belong to the next one.
  const bool in_wave = HoldsBack(now) && !draining;
  const size_t in_flight = parts_.tracker.records_in_flight();
  const size_t received = pending.size();
  size_t handled = 0;
  size_t bytes = 0;
  absl::StatusOr<Wait> wait = Wait::kNone;
  // The window is asked before each message, also for those that produce nothing: they cannot be
  // told apart without being handled.
  while (handled < pending.size() && !(draining && !parts_.pipeline.in_transaction()) &&
         !(in_wave && MayProduce(pending[handled]))) {
    wait = RecordIsRefused() ? Wait::kProgress
           : HasRoom()       ? HandleOne(pending[handled], now)
                             : Wait::kWindow;
    if (!wait.ok() || *wait != Wait::kNone) {
      break;
    }
    bytes += pending[handled].size();
    ++handled;
  }
  if (wait.ok() && *wait == Wait::kTopic) {
    LookAhead(handled + 1);
  } else if (wait.ok() && *wait == Wait::kProgress) {
    SetBlockingError(parts_.recorder.error(), now);
  }
  parts_.metrics.replication_received_bytes->Increment(static_cast<double>(bytes));
  WR_CHECK(!wait.ok() || *wait != Wait::kNone || handled == received || draining || in_wave,
           "a message that is not handled waits for something");
  if (parts_.tracker.records_in_flight() > in_flight) {
    pacer_.OnProduced(now, parts_.tracker.records_in_flight() - in_flight);
  }
  // Once for all: the views of pending() are valid until then.
  parts_.source.Consume(handled);
  announced_ -= std::min(announced_, handled);
  WR_CHECK(parts_.source.pending().size() + handled == received, "handled messages are consumed");
  // A drain does not handle the remaining messages: do not wake up for them.
  const bool rest_waits = !draining && !parts_.source.pending().empty();
  burst_since_ = rest_waits ? std::optional(now) : std::nullopt;
  SetWait(wait.value_or(Wait::kNone), handled > 0, now);
  return wait.status();
}

// While a message waits for its topic, those behind it wait too: looking up and creating their
// topics takes no longer for many than for one.
void Session::LookAhead(size_t first) {
  const std::span<const std::string_view> pending = parts_.source.pending();
  if (announced_ < first) {
    announced_ = first;
    parts_.pipeline.BeginLookAhead();
  }
  for (; announced_ < pending.size(); ++announced_) {
    const auto data = pgoutput::DecodeCopyData(pending[announced_]);
    const auto* xlog_data = data.ok() ? std::get_if<pgoutput::XLogData>(&*data) : nullptr;
    if (!data.ok() || (xlog_data != nullptr && !parts_.pipeline.LookAhead(*xlog_data))) {
      return;
    }
  }
}

absl::StatusOr<Wait> Session::HandleOne(std::string_view message, MonoTime now) {
  WR_ASSIGN_OR_RETURN(const pgoutput::CopyData data, pgoutput::DecodeCopyData(message));
  if (const auto* xlog_data = std::get_if<pgoutput::XLogData>(&data)) {
    return HandleData(*xlog_data, now);
  }
  const auto& keepalive = std::get<pgoutput::Keepalive>(data);
  MessageCounter('k').Increment();
  WR_RETURN_IF_ERROR(parts_.pipeline.OnKeepalive(keepalive.wal_end));
  feedback_.OnKeepalive(now, keepalive.wal_end, keepalive.reply_requested);
  return Wait::kNone;
}

// A blocking error keeps the session: the message stays pending, and status updates continue.
absl::StatusOr<Wait> Session::HandleData(const pgoutput::XLogData& data, MonoTime now) {
  if (!Admits(data.payload, now)) {
    WR_CHECK(gate_ && gate_->waiting(), "the gate waits for the transaction that it holds");
    return Wait::kVisibility;
  }
  const auto wait = parts_.pipeline.Handle(data);
  if (!wait.ok()) {
    if (ReactionTo(wait.status()) != Reaction::kBlocked) {
      return wait.status();
    }
    SetBlockingError(wait.status(), now);
    return Wait::kFix;
  }
  if (*wait != Wait::kNone) {
    return *wait;
  }
  OnHandled(data, now);
  return Wait::kNone;
}

void Session::OnHandled(const pgoutput::XLogData& data, MonoTime now) {
  blocking_error_ = absl::OkStatus();
  const char type = data.payload.empty() ? static_cast<char>(pgoutput::MessageType::kOrigin)
                                         : data.payload.front();  // see Decoder
  MessageCounter(type).Increment();
  // The lag of a message outside of a transaction is that of the last one: relations and types come
  // just before rows.
  if (const auto committed = parts_.pipeline.last_commit_time()) {
    last_lag_ = data.sent - *committed;
    last_handled_ = now;
    pacer_.OnLag(last_lag_);
    if (type == static_cast<char>(pgoutput::MessageType::kCommit) &&
        parts_.pipeline.events_in_transaction() > 0) {
      MeasureStages(*committed, data.sent);
    }
  }
}

// Adds the latencies of the most recently read transaction by stage. The second one compares two
// clocks.
void Session::MeasureStages(WallTime committed, WallTime sent) {
  parts_.stages.postgres.Add(sent - committed);
  parts_.stages.relay.Add(parts_.clock.WallNow() - sent);
}

// The server's own difference between commit and send: it needs no clock of ours.
RelayView::Stream Session::View() const {
  const auto& row = parts_.pipeline.blocked_row();
  return {.backend_pid = backend_pid_,
          .blocking_error = blocking_error_,
          .blocked_row = row ? fmt::format("table={} {} lsn={} xid={}", row->table, row->row,
                                           row->commit_lsn.ToString(), row->xid)
                             : "",
          .incoming_bytes = parts_.source.incoming_bytes(),
          .waits_for = waits_for(),
          .waits_for_log = wait_ == Wait::kLog,
          .unseen = unseen(),
          .stalled_since = stalled_since_,
          .last_handled = last_handled_,
          .lag = lag()};
}

Micros Session::lag() const {
  const bool idle = parts_.source.pending().empty() && last_turn_ - last_handled_ > kIdle;
  return idle ? Micros(0) : last_lag_;
}

// A lookup by label for each message would cost more than the rest of handling it; types are ASCII
// letters.
prometheus::Counter& Session::MessageCounter(char type) {
  prometheus::Counter*& counter = message_counters_[static_cast<unsigned char>(type) & 0x7F];
  if (counter == nullptr) {
    counter = &parts_.metrics.replication_messages[type == 'k' ? "keepalive" : TypeNameOf(type)];
  }
  return *counter;
}

// Retries after a blocking error, with growing pauses: a topic may be created, or a privilege
// granted.
void Session::SetBlockingError(const absl::Status& blocking_error, MonoTime now) {
  WR_CHECK(!blocking_error.ok(), "what blocks is an error");
  const bool same = HasCode(blocking_error_, CodeOf(blocking_error));
  blocking_error_ = blocking_error;
  blocked_retry_wait_ =
      same ? std::min(blocked_retry_wait_ * 2, kLongestBlockedRetry) : kFirstBlockedRetry;
  WR_CHECK(blocked_retry_wait_ > Micros(0), "a blocked row is retried after a pause");
  retry_blocked_at_ = now + blocked_retry_wait_;
  if (!same) {
    parts_.metrics.route_errors[ToString(CodeOf(blocking_error))].Increment();
  }
}

// While some messages are handled in each turn, the stream is slow but not stalled.
void Session::SetWait(Wait wait, bool moved, MonoTime now) {
  if (wait == Wait::kNone || moved) {
    stalled_since_.reset();
  }
  if (wait != Wait::kNone) {
    stalled_since_ = stalled_since_.value_or(now);
  }
  wait_ = wait;
  WR_CHECK(stalled_since_.has_value() == (wait != Wait::kNone), "a stall has a beginning");
}

// Until the history is known, nothing is published that a record would have to follow. And with
// "exactly_once", the next record waits for it.
bool Session::RecordIsRefused() const {
  return !parts_.recorder.error().ok() && parts_.pipeline.history_known();
}

void Session::CheckRecorder(MonoTime now) {
  const bool stalled = wait_ == Wait::kProgress;
  if (RecordIsRefused() && !stalled) {
    SetBlockingError(parts_.recorder.error(), now);
    SetWait(Wait::kProgress, /*moved=*/false, now);
  } else if (parts_.recorder.error().ok() && stalled) {
    blocking_error_ = absl::OkStatus();
    SetWait(Wait::kNone, /*moved=*/true, now);
  }
}

// Sends at most one update per turn. Flush() first sends the rest of an earlier one that the socket
// did not accept; positions are never sent out of order.
absl::Status Session::Report(MonoTime now) {
  if (feedback_.ServerLeaving()) {
    // The server waits for a position that cannot be reached now. Closing the stream lets it shut
    // down.
    (void)SendStatus(now, FeedbackCause::kRequested);
    return Error(ErrorCode::kPostgresShuttingDown,
                 "the server repeatedly requests a status update without making progress");
  }
  if (feedback_.ServerSilent(now)) {
    return Error(ErrorCode::kServerSilent, "no data received for wal_sender_timeout");
  }
  if (const auto cause = feedback_.Due(now, confirmable())) {
    return SendStatus(now, *cause);
  }
  return parts_.source.wants_write() ? parts_.source.Flush() : absl::OkStatus();
}

// On a WAL that was rewritten, transactions that have passed by as published are not: they are read
// again when an operator has accepted the gap.
Lsn Session::confirmable() const {
  const Lsn recorded = parts_.recorder.confirmable();
  if (!claimed_) {
    return std::min(recorded, parts_.recorder.confirmed_at_start());
  }
  return parts_.pipeline.history_known() ? recorded : std::min(recorded, started_at_);
}

// All three positions of an update are in the unit of the server: write is what was received, flush
// and apply are what Kafka has acknowledged, and what is recorded where progress is.
absl::Status Session::SendStatus(MonoTime now, FeedbackCause cause) {
  const Lsn confirmed = confirmable();
  WR_CHECK(confirmed <= parts_.tracker.frontier() && confirmed <= parts_.tracker.received(),
           "only what was received and acknowledged is confirmed");
  feedback_.OnSent(now, confirmed, cause == FeedbackCause::kPing);
  parts_.metrics.replication_status_updates[NameOf(cause)].Increment();
  return parts_.source.SendStatus({.received = parts_.tracker.received(),
                                   .flushed = confirmed,
                                   .now = parts_.clock.WallNow(),
                                   .reply_requested = cause == FeedbackCause::kPing});
}

absl::Status Session::Finish(Micros timeout) {
  WR_RETURN_IF_ERROR(SendStatus(parts_.clock.Now(), FeedbackCause::kProgress));
  return parts_.source.Finish(timeout);
}

// Between turns a session depends on time and descriptors only; whatever a stall waits for has one
// of the two.
Wakeup Session::NextWakeup() const {
  const MonoTime now = parts_.clock.Now();
  Wakeup wakeup{.at = std::min(feedback_.NextDue(confirmable()), now + kIdleTurn)};
  wakeup.source_writable = parts_.source.wants_write();
  if (gate_) {
    wakeup.at = std::min(wakeup.at, gate_->NextDue());
  }
  if (wait_ == Wait::kFix) {
    wakeup.at = std::min(wakeup.at, retry_blocked_at_);
  } else if (wait_ == Wait::kLog) {
    wakeup.at = std::min(wakeup.at, now + kLogRetry);
  }
  // The sink, the recorder or an answer of Postgres ends any other wait, and wakes the loop.
  if (wait_ != Wait::kNone) {
    return wakeup;
  }
  if (HoldsBack(now)) {
    const bool lingers = now < pacer_.linger_end();
    wakeup.at = std::min(wakeup.at, lingers ? pacer_.linger_end() : pacer_.wave_end());
    wakeup.producer_readable = !lingers;  // an acknowledgement changes nothing yet
    return wakeup;
  }
  if (burst_since_) {
    wakeup.at = std::min(wakeup.at, *burst_since_ + pacer_.hold());
  }
  if (read_at_ > now) {
    wakeup.at = std::min(wakeup.at, read_at_);
  } else {
    wakeup.source_readable = true;
  }
  if (ReportsMayWait(now)) {
    wakeup.producer_readable = false;
    wakeup.at = std::min(wakeup.at, pacer_.reports_due());
  }
  return wakeup;
}

}  // namespace walrelay
