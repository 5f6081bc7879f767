#include "relay/session.h"

#include <algorithm>

#include "base/log.h"
#include "walrelay/error.h"

namespace walrelay {
namespace {

// Limits of the received messages not yet handled. Enough for a burst; a few thousand rows of
// hundreds of bytes.
constexpr size_t kPendingBytes = 512 * 1024;
constexpr size_t kBurstMessages = 4'000;
constexpr Micros kFirstRetry = std::chrono::seconds(1);
constexpr Micros kLongestRetry = std::chrono::seconds(30);
constexpr Micros kIdleTurn = std::chrono::seconds(1);
constexpr Micros kLogRetry = std::chrono::milliseconds(50);
constexpr Micros kIdle = std::chrono::seconds(1);

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

}  // namespace

Session::Session(const Parts& parts, const ServerFacts& server)
    : parts_(parts),
      feedback_({.progress_delay = parts.config.pipeline.confirm_interval,
                 .wal_sender_timeout = server.wal_sender_timeout},
                parts.clock.Now()),
      window_(parts.config.pipeline),
      pacer_(server.by_network),
      last_turn_(parts.clock.Now()),
      read_at_(last_turn_) {
  if (parts.snapshots != nullptr) {
    gate_.emplace(VisibilityGate::Parts{.snapshots = *parts.snapshots,
                                        .metrics = parts.metrics,
                                        .walsender_pid = server.backend_pid,
                                        .answer_timeout = parts.config.source.connect_timeout,
                                        .seed = static_cast<uint64_t>(server.backend_pid)},
                  last_turn_);
  }
}

absl::Status Session::Turn(Producer& producer, bool draining) {
  const MonoTime now = parts_.clock.Now();
  if (hold_ == Hold::kWindow) {
    parts_.metrics.backpressure_seconds->Increment(
        std::chrono::duration<double>(now - last_turn_).count());
  }
  last_turn_ = now;
  if (gate_) {
    WR_RETURN_IF_ERROR(gate_->Turn(now));
  }
  const bool between_transactions = draining && !parts_.pipeline.in_transaction();
  if (hold_ != Hold::kNone || between_transactions) {
    feedback_.OnReceived(now);  // while we are not reading, the server cannot be considered silent
  }
  if (MayHandle(now) && now >= read_at_ && !between_transactions) {
    WR_RETURN_IF_ERROR(Read(now));
  }
  WR_RETURN_IF_ERROR(HandlePending(now, producer, draining));
  return Report(now);
}

absl::Status Session::Read(MonoTime now) {
  const size_t before = parts_.source.pending().size();
  WR_ASSIGN_OR_RETURN(const bool heard, parts_.source.Receive(kPendingBytes));
  if (heard) {
    feedback_.OnReceived(now);
  }
  if (parts_.source.pending().size() == before) {
    pacer_.OnNothingToRead(now - last_handled_);
  } else {
    burst_since_ = burst_since_.value_or(now);
  }
  read_at_ = now + pacer_.pause();
  return absl::OkStatus();
}

// Whether the condition that handling waits for may have been met.
bool Session::MayHandle(MonoTime now) {
  switch (hold_) {
    case Hold::kNone:
    case Hold::kTopic:
    case Hold::kReport:
    case Hold::kLog:
      return true;
    case Hold::kWindow:
    case Hold::kProducer:
      return window_.Admits(parts_.tracker);
    case Hold::kObstacle:
      return now >= retry_obstacle_at_;
    case Hold::kVisibility:
      return !gate_->waiting();
  }
  return true;
}

// Whether other sessions can see the transaction that a message begins. True for any other message.
bool Session::Admits(std::string_view payload, MonoTime now) {
  if (!gate_ || !payload.starts_with(static_cast<char>(pgoutput::MessageType::kBegin))) {
    return true;
  }
  const auto message = pgoutput::Decoder().Decode(payload);
  const auto* begin = message.ok() ? std::get_if<pgoutput::Begin>(&*message) : nullptr;
  return begin == nullptr || gate_->Admits(begin->xid, now);  // the pipeline rejects other messages
}

absl::Status Session::unseen() const {
  return hold_ == Hold::kVisibility ? gate_->reason(parts_.clock.Now()) : absl::OkStatus();
}

bool Session::BurstComplete(MonoTime now) const {
  return parts_.source.pending().size() >= kBurstMessages ||
         (burst_since_ && now - *burst_since_ >= pacer_.hold());
}

absl::Status Session::HandlePending(MonoTime now, Producer& producer, bool draining) {
  const std::span<const std::string_view> pending = parts_.source.pending();
  const bool due = hold_ != Hold::kNone ? MayHandle(now) : draining || BurstComplete(now);
  if (pending.empty() || !due) {
    return absl::OkStatus();
  }
  size_t handled = 0;
  size_t bytes = 0;
  absl::StatusOr<Hold> hold = Hold::kNone;
  while (handled < pending.size() && !(draining && !parts_.pipeline.in_transaction())) {
    hold =
        window_.Admits(parts_.tracker) ? HandleOne(pending[handled], now, producer) : Hold::kWindow;
    if (!hold.ok() || *hold != Hold::kNone) {
      break;
    }
    bytes += pending[handled].size();
    ++handled;
  }
  parts_.metrics.replication_received_bytes->Increment(static_cast<double>(bytes));
  parts_.source.Consume(handled);
  // A drain does not handle the remaining messages: do not wake up for them.
  const bool rest_waits = !draining && !parts_.source.pending().empty();
  burst_since_ = rest_waits ? std::optional(now) : std::nullopt;
  SetHold(hold.value_or(Hold::kNone), handled > 0, now);
  return hold.status();
}

absl::StatusOr<Session::Hold> Session::HandleOne(std::string_view message, MonoTime now,
                                                 Producer& producer) {
  WR_ASSIGN_OR_RETURN(const pgoutput::CopyData data, pgoutput::DecodeCopyData(message));
  if (const auto* xlog_data = std::get_if<pgoutput::XLogData>(&data)) {
    return HandleData(*xlog_data, now, producer);
  }
  const auto& keepalive = std::get<pgoutput::Keepalive>(data);
  MessageCounter('k').Increment();
  parts_.tracker.OnKeepalive(keepalive.wal_end);
  feedback_.OnKeepalive(now, keepalive.wal_end, keepalive.reply_requested);
  return Hold::kNone;
}

absl::StatusOr<Session::Hold> Session::HandleData(const pgoutput::XLogData& data, MonoTime now,
                                                  Producer& producer) {
  if (!Admits(data.payload, now)) {
    return Hold::kVisibility;
  }
  const auto outcome = parts_.pipeline.Handle(data, producer);
  if (!outcome.ok()) {
    if (ReactionTo(outcome.status()) != Reaction::kBlocked) {
      return outcome.status();
    }
    SetObstacle(outcome.status(), now);
    return Hold::kObstacle;
  }
  switch (*outcome) {
    case Pipeline::Outcome::kTopicPending:
      return Hold::kTopic;
    case Pipeline::Outcome::kQueueFull:
      return Hold::kProducer;
    case Pipeline::Outcome::kAwaitingReport:
      return Hold::kReport;
    case Pipeline::Outcome::kLogFull:
      return Hold::kLog;
    case Pipeline::Outcome::kHandled:
      break;
  }
  OnHandled(data, now);
  return Hold::kNone;
}

void Session::OnHandled(const pgoutput::XLogData& data, MonoTime now) {
  obstacle_ = absl::OkStatus();
  MessageCounter(data.payload.front()).Increment();
  if (const auto committed = parts_.pipeline.last_commit_time()) {
    last_lag_ = data.sent - *committed;
    last_handled_ = now;
    pacer_.OnLag(last_lag_);
    if (data.payload.front() == static_cast<char>(pgoutput::MessageType::kCommit) &&
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

std::string_view Session::waits_for() const {
  switch (hold_) {
    case Hold::kNone:
      return "";
    case Hold::kWindow:
      return "Kafka to acknowledge records: the in-flight window is full";
    case Hold::kProducer:
      return "the producer: its queue is full, or the first record of a partition is not yet "
             "acknowledged";
    case Hold::kTopic:
      return "Kafka to return the metadata of a new topic";
    case Hold::kReport:
      return "Kafka to acknowledge a record: after a refusal records are sent one at a time";
    case Hold::kLog:
      return "standard error to accept the log lines about skipped rows";
    case Hold::kObstacle:
      return "the cause of the error to be fixed; walrelay retries automatically";
    case Hold::kVisibility:
      return "Postgres to make a committed transaction visible to other sessions";
  }
  return "";
}

Micros Session::lag() const {
  const bool idle = parts_.source.pending().empty() && last_turn_ - last_handled_ > kIdle;
  return idle ? Micros(0) : last_lag_;
}

prometheus::Counter& Session::MessageCounter(char type) {
  prometheus::Counter*& counter = message_counters_[static_cast<unsigned char>(type) & 0x7F];
  if (counter == nullptr) {
    counter = &parts_.metrics.replication_messages[type == 'k' ? "keepalive" : TypeNameOf(type)];
  }
  return *counter;
}

// Retries after an obstacle with growing pauses: a topic may be created, or a privilege granted.
void Session::SetObstacle(const absl::Status& obstacle, MonoTime now) {
  const bool same = HasCode(obstacle_, CodeOf(obstacle));
  obstacle_ = obstacle;
  obstacle_wait_ = same ? std::min(obstacle_wait_ * 2, kLongestRetry) : kFirstRetry;
  retry_obstacle_at_ = now + obstacle_wait_;
  if (!same) {
    parts_.metrics.route_errors[ToString(CodeOf(obstacle))].Increment();
  }
}

void Session::SetHold(Hold hold, bool moved, MonoTime now) {
  if (hold == Hold::kNone || moved) {
    held_since_.reset();
  }
  if (hold != Hold::kNone) {
    held_since_ = held_since_.value_or(now);
  }
  hold_ = hold;
}

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
  if (const auto cause = feedback_.Due(now, parts_.tracker.frontier())) {
    return SendStatus(now, *cause);
  }
  return parts_.source.wants_write() ? parts_.source.Flush() : absl::OkStatus();
}

absl::Status Session::SendStatus(MonoTime now, FeedbackCause cause) {
  const Lsn frontier = parts_.tracker.frontier();
  feedback_.OnSent(now, frontier, cause == FeedbackCause::kPing);
  parts_.metrics.replication_status_updates[NameOf(cause)].Increment();
  return parts_.source.SendStatus({.received = parts_.tracker.received(),
                                   .flushed = frontier,
                                   .now = parts_.clock.WallNow(),
                                   .reply_requested = cause == FeedbackCause::kPing});
}

absl::Status Session::Finish(Micros patience) {
  WR_RETURN_IF_ERROR(SendStatus(parts_.clock.Now(), FeedbackCause::kProgress));
  return parts_.source.Finish(patience);
}

Wakeup Session::NextWakeup() const {
  const MonoTime now = parts_.clock.Now();
  Wakeup wakeup{.at = std::min(feedback_.NextDue(parts_.tracker.frontier()), now + kIdleTurn)};
  wakeup.source_writable = parts_.source.wants_write();
  if (gate_) {
    wakeup.at = std::min(wakeup.at, gate_->NextDue());
  }
  switch (hold_) {
    case Hold::kObstacle:
      wakeup.at = std::min(wakeup.at, retry_obstacle_at_);
      return wakeup;
    case Hold::kLog:
      wakeup.at = std::min(wakeup.at, now + kLogRetry);
      return wakeup;
    case Hold::kWindow:
    case Hold::kProducer:
    case Hold::kTopic:
    case Hold::kReport:
      return wakeup;  // the producer wakes the loop
    case Hold::kVisibility:
      return wakeup;  // the answer wakes the loop
    case Hold::kNone:
      break;
  }
  if (burst_since_) {
    wakeup.at = std::min(wakeup.at, *burst_since_ + pacer_.hold());
  }
  if (read_at_ > now) {
    wakeup.at = std::min(wakeup.at, read_at_);
  } else {
    wakeup.source_readable = true;
  }
  return wakeup;
}

}  // namespace walrelay
