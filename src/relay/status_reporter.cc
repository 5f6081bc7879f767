#include "relay/status_reporter.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/check.h"
#include "base/log.h"
#include "base/text.h"
#include "slot/stream_watch.h"
#include "status/gap_words.h"
#include "walrelay/error.h"

namespace walrelay {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

// Kafka is slow at times (leader election, a long garbage collection); a stall is reported only
// after this time.
constexpr Micros kStallNotice = seconds(5);
// Often enough for a page that refreshes each second, rare enough to cost nothing.
constexpr Micros kGaugeInterval = milliseconds(200);
// One point of the status page's chart.
constexpr Micros kPointInterval = seconds(10);
// Different thresholds, so that the state does not flap.
constexpr Micros kBehind = seconds(2);
constexpr Micros kCaughtUp = milliseconds(500);

// Decoding that takes longer is shown: what was committed behind it waits.
constexpr Micros kLongDecoding = seconds(10);

// Whether an operator must act before events flow again.
bool NeedsOperator(const absl::Status& error) {
  switch (ReactionTo(error)) {
    case Reaction::kRetry:
    case Reaction::kStandby:
      return false;
    case Reaction::kBlocked:
    case Reaction::kDefinite:
    case Reaction::kGap:
    case Reaction::kConfiguration:
    case Reaction::kUsage:
      return true;
  }
  return true;
}

}  // namespace

// The first turn may take seconds to connect. The series that alerts rest on exist before it: a
// process that starts during an outage must not silence them.
StatusReporter::StatusReporter(const Parts& parts) : parts_(parts), stages_(parts.metrics) {
  Metrics& metrics = parts_.metrics;
  metrics.state.SetOnly(NameOf(RelayState::kStarting));
  for (auto* gauge : {&metrics.ready, &metrics.leader, &metrics.gap_held,
                      &metrics.replication_connected, &metrics.oldest_unpublished_age_seconds}) {
    (*gauge)->Set(0);
  }
}

// The wall clock may be behind the server's: a negative latency counts as 0.
void StatusReporter::OnDelivered(const Delivery& delivery, WallTime commit_time) {
  const WallTime acknowledged = parts_.clock.WallNow() - delivery.report_delay;
  const Micros latency = std::max(acknowledged - commit_time, Micros(0));
  last_published_ = acknowledged;
  ++acknowledged_;
  latencies_.Add(latency);
  parts_.metrics.commit_to_ack_seconds.Observe(latency);
  stages_.kafka.Add(delivery.latency);
  // Successive deliveries usually have the same topic.
  if (last_topic_counter_ == nullptr || last_topic_ != delivery.topic) {
    last_topic_ = delivery.topic;
    last_topic_counter_ = &TopicCounter(delivery.topic);
  }
  last_topic_counter_->Increment();
}

// The number of series is limited: further topics share one.
prometheus::Counter& StatusReporter::TopicCounter(std::string_view topic) {
  auto& by_topic = parts_.metrics.events_published;
  const bool room = by_topic.size() < static_cast<size_t>(parts_.config.metrics.max_topics);
  return by_topic[room || by_topic.contains(topic) ? topic : "__other__"];
}

// In order of precedence: what an operator must do hides what the relay does by itself.
RelayStatus StatusReporter::Describe(MonoTime now, const Session* session) const {
  const RunState& state = parts_.state;
  const std::optional<Gap>& gap = parts_.gaps.held();
  if (state.finished) {
    return {.state = RelayState::kStopped, .error = state.result, .gap = gap};
  }
  if (state.draining) {
    return {RelayState::kDraining, absl::OkStatus(), ""};
  }
  if (gap) {
    const bool accepted = parts_.gaps.accepted();
    return {
        .state = RelayState::kBlocked,
        .error = gap->error,
        .detail = fmt::format("gap {}: {}{}", gap->id, RangeOf(*gap), accepted ? ", accepted" : ""),
        .gap = gap,
        .gap_accepted = accepted,
        .gap_error = parts_.gaps.error(),
        .gap_checks = parts_.gaps.checks()};
  }
  switch (state.phase) {
    case RunState::Phase::kWaitingForSlot:
      return {RelayState::kStandby, absl::OkStatus(), MessageOf(state.last_error)};
    case RunState::Phase::kDisconnected: {
      const bool blocked = !state.last_error.ok() && NeedsOperator(state.last_error);
      const bool first = !state.has_streamed && state.last_error.ok();
      return {blocked ? RelayState::kBlocked
              : first ? RelayState::kStarting
                      : RelayState::kDegraded,
              state.last_error, ""};
    }
    case RunState::Phase::kStreaming:
      break;
  }
  WR_CHECK(session != nullptr, "a stream has a session");
  return DescribeStream(now, *session);
}

// An error of the present session is more exact than one remembered from an earlier session; a
// remembered one lasts until there is progress, because the same row may fail again.
RelayStatus StatusReporter::DescribeStream(MonoTime now, const Session& session) const {
  WR_CHECK(parts_.state.phase == RunState::Phase::kStreaming, "a session streams");
  if (!session.blocking_error().ok()) {
    const auto& row = parts_.pipeline.blocked_row();
    return {RelayState::kBlocked, session.blocking_error(),
            row ? fmt::format("table={} {} lsn={} xid={}", row->table, row->row,
                              row->commit_lsn.ToString(), row->xid)
                : ""};
  }
  if (!parts_.state.blocked_error.ok()) {
    return {RelayState::kBlocked, parts_.state.blocked_error, ""};
  }
  // Without the transactional id nothing is published, whether or not an event waits.
  if (const absl::Status& denied = parts_.monitor.transactions().claim_error;
      !denied.ok() && NeedsOperator(denied)) {
    return {RelayState::kBlocked, denied, ""};
  }
  if (const absl::Status stall = StallStatus(now, session); !stall.ok()) {
    return {RelayState::kDegraded, stall, ""};
  }
  if (const auto silence = Silence(now, session); silence && !silence->error.ok()) {
    return {RelayState::kDegraded, silence->error, ""};
  } else if (silence && silence->lasts > kLongDecoding) {
    return {RelayState::kCatchingUp, absl::OkStatus(), ""};
  }
  const bool was_behind = published_state_ == RelayState::kCatchingUp;
  const bool behind = session.lag() > (was_behind ? kCaughtUp : kBehind);
  return {behind ? RelayState::kCatchingUp : RelayState::kStreaming, absl::OkStatus(), ""};
}

// The sampler sees what the server's process does, and how far it could have sent. Its sample is
// outdated once anything was received: then the stream is not silent. The rows of a transaction
// that is not complete do not move the position: they end a silence as well, except a wait for a
// standby, which began behind them and may have begun on an earlier connection. While this process
// does not read, the server has to wait.
std::optional<StatusReporter::Silent> StatusReporter::Silence(MonoTime now,
                                                              const Session& session) const {
  const auto slot = parts_.board.slot();
  const SamplerStatus sampler = parts_.board.sampler();
  const WallTime wall = parts_.clock.WallNow();
  if (!slot || !slot->silence || !sampler.IsCurrent(sampler.slot, wall) ||
      slot->silence->backend_pid != session.backend_pid() || session.stalled_since() ||
      slot->silence->received != parts_.tracker.received()) {
    return std::nullopt;
  }
  const Micros age = std::max(wall - *sampler.slot, Micros(0));
  const Micros quiet = slot->silence->cause == SilenceCause::kStandby ? age : slot->silence->lasted;
  if (now - session.last_handled() < quiet) {
    return std::nullopt;
  }
  return Silent{.error = SilenceStatus(*slot),
                .lasts = slot->silence->lasted + age,
                .rows_may_wait = RowsMayWait()};
}

// A count of all outbox tables that finds no unpublished row proves that none waits.
bool StatusReporter::RowsMayWait() const {
  const std::vector<TableReading> tables = parts_.board.tables();
  return tables.empty() || std::any_of(tables.begin(), tables.end(), [](const TableReading& table) {
           return !table.unpublished || table.unpublished->rows > 0;
         });
}

// Since when nothing is read although events may wait; nullopt while the stream is up to date. A
// server that decodes a large transaction of other tables delays events only if there are some.
std::optional<WallTime> StatusReporter::SilentSince(MonoTime now, const Session* session) const {
  if (session == nullptr) {
    return std::nullopt;
  }
  const auto silence = Silence(now, *session);
  return silence && (!silence->error.ok() ||
                     (silence->rows_may_wait && silence->lasts > kLongDecoding))
             ? std::optional(parts_.clock.WallNow() - silence->lasts)
             : std::nullopt;
}

// The cause of a stall longer than kStallNotice, in Kafka, the log or Postgres; OK without one.
absl::Status StatusReporter::StallStatus(MonoTime now, const Session& session) const {
  const size_t in_flight = parts_.tracker.records_in_flight();
  const bool unacknowledged = in_flight > 0 && now - parts_.state.last_delivery > kStallNotice;
  const auto stalled_since = session.stalled_since();
  const bool stalled = stalled_since && now - *stalled_since > kStallNotice;
  if (const absl::Status unseen = session.unseen(); stalled && !unseen.ok()) {
    return unseen;
  }
  if (!unacknowledged && !stalled) {
    return RecordingStatus(now);
  }
  if (session.waits_for_log()) {
    return Error(ErrorCode::kLogBlocked, "rows to be skipped wait for it");
  }
  if (const absl::Status& examined = parts_.monitor.stall(); !examined.ok()) {
    return examined;  // another client has asked the brokers
  }
  const absl::Status error = parts_.producer.TransientError();
  return !error.ok()
             ? error
             : Error(ErrorCode::kKafkaStalled, fmt::format("{} records in flight", in_flight));
}

// Events may flow to other topics meanwhile, but the slot retains more and more WAL.
absl::Status StatusReporter::RecordingStatus(MonoTime now) const {
  const auto waiting_since = parts_.recorder.waiting_since();
  if (!waiting_since || now - *waiting_since <= kStallNotice) {
    return absl::OkStatus();
  }
  if (const absl::Status& examined = parts_.monitor.stall(); !examined.ok()) {
    return examined;
  }
  const absl::Status error = parts_.producer.TransientError();
  const bool of_one_broker =
      HasCode(error, ErrorCode::kKafkaUnreachable) && parts_.producer.Reachable();
  if (!error.ok() && !of_one_broker) {
    return error;
  }
  return Error(ErrorCode::kKafkaStalled,
               fmt::format("topic {}: the progress record is not acknowledged; the slot is not "
                           "confirmed without it{}{}",
                           parts_.recorder.topic(), error.ok() ? "" : "; ", MessageOf(error)));
}

// A process that stood by once reports as a standby while it reconnects, until it streams.
bool StatusReporter::OnTurn(MonoTime now) {
  if (parts_.state.phase != RunState::Phase::kDisconnected) {
    stood_by_ = parts_.state.phase == RunState::Phase::kWaitingForSlot;
  }
  if (now < due_ && !parts_.state.finished) {
    return false;
  }
  due_ = now + kGaugeInterval;
  return true;
}

void StatusReporter::Publish(MonoTime now, const Session* session) {
  WR_CHECK(session != nullptr || parts_.state.phase != RunState::Phase::kStreaming,
           "a stream has a session");
  RelayStatus status = Describe(now, session);
  // Messages differ in positions and counts; only another code is a change that is worth a log
  // line.
  const bool same_error = status.error.ok() == published_error_.ok() &&
                          (status.error.ok() || CodeOf(status.error) == CodeOf(published_error_));
  if (status.state != published_state_ || !same_error) {
    OnChange(status, session);
  }
  status.since = published_since_;
  status.waits_for = WaitReason(now, session);
  status.accepted_gap = parts_.state.accepted_gap;
  if (parts_.state.stuck && !parts_.state.finished) {
    status.stuck = parts_.state.stuck->gap;
  }
  status.figures = Figures(now, session);
  status.progress = DescribeProgress();
  status.transactions = DescribeTransactions(now);
  UpdateGauges(now, status.state, session);
  AddPoint(now);
  PublishProof(now);
  parts_.board.Publish(std::move(status));
  parts_.metrics.ready->Set(parts_.board.ready() ? 1 : 0);
}

void StatusReporter::PublishProof(MonoTime now) {
  if (parts_.gaps.held()) {
    parts_.board.ForgetPublished();
    return;
  }
  parts_.board.SetPublished(parts_.recorder.Proof(now));
}

// A degraded state without a session is a lost connection, which was logged when it happened.
void StatusReporter::OnChange(const RelayStatus& status, const Session* session) {
  WR_CHECK(status.state != RelayState::kBlocked || !status.error.ok(), "what blocks is an error");
  const WallTime wall = parts_.clock.WallNow();
  if (status.state == RelayState::kBlocked ||
      (status.state == RelayState::kDegraded && session != nullptr)) {
    LogStatus(LogLevel::kError, NameOf(status.state), status.error, {{"where", status.detail}});
    parts_.board.NoteError(status.error, wall);
  } else if (status.state != RelayState::kStopped) {
    LogInfo("state", NameOf(status.state));
  }
  published_since_ = status.state != published_state_ ? wall : published_since_;
  published_state_ = status.state;
  published_error_ = status.error;
}

// The condition that publishing waits for, as text for operators.
std::string StatusReporter::WaitReason(MonoTime now, const Session* session) const {
  if (parts_.state.finished) {
    return "";
  }
  if (parts_.gaps.held()) {
    if (!parts_.gaps.error().ok()) {
      return fmt::format("another problem to be fixed before the gap can be accepted: {} {}",
                         ToString(CodeOf(parts_.gaps.error())), MessageOf(parts_.gaps.error()));
    }
    if (!parts_.gaps.accepted()) {
      return fmt::format("an operator: {}", NextStepOf(*parts_.gaps.held()));
    }
    const absl::Status& last = parts_.state.last_error;
    return last.ok() || ReactionTo(last) == Reaction::kGap
               ? "the next check of the source, after which publishing continues"
               : fmt::format("another problem to be fixed before publishing continues: {} {}",
                             ToString(CodeOf(last)), MessageOf(last));
  }
  if (parts_.state.phase == RunState::Phase::kWaitingForSlot) {
    return "the slot, which another process holds";
  }
  if (parts_.state.stuck && parts_.state.stuck->accepted) {
    return "the records in flight, after which publishing continues behind the transaction";
  }
  if (parts_.state.phase == RunState::Phase::kDisconnected) {
    return fmt::format("the next connection attempt, in {}",
                       FormatDuration(std::max(parts_.state.retry_at - now, Micros(0))));
  }
  if (parts_.state.draining) {
    return "Kafka to acknowledge the records in flight before stopping";
  }
  WR_CHECK(session != nullptr, "a stream has a session");
  const std::string_view reason = session->waits_for();
  const bool unclaimed = parts_.committer.enabled() && !parts_.monitor.transactions().claimed;
  return std::string(!reason.empty() && unclaimed ? "the claim of the transactional id" : reason);
}

// The earliest of what is in flight, what waits to be produced, and what must be read again.
std::optional<WallTime> StatusReporter::OldestUnpublished(const Session* session) const {
  std::optional<WallTime> oldest = parts_.tracker.oldest_commit_time();
  const auto count = [&](const std::optional<WallTime>& commit) {
    // std::optional orders nullopt before every value, so the maximum is the one that exists.
    oldest = commit && oldest ? std::min(oldest, commit) : std::max(oldest, commit);
  };
  if (session == nullptr) {
    count(parts_.state.oldest_unread);
  } else if (session->stalled_since() && parts_.pipeline.in_transaction()) {
    count(parts_.pipeline.last_commit_time());
  }
  return oldest;
}

// How long nothing has been read, as far as is known: since this process lost its connection, or
// since the slot became inactive or started to lag.
Micros StatusReporter::TimeCutOff(MonoTime now) const {
  Micros time = now - parts_.state.disconnected_since;
  const auto slot = parts_.board.slot();
  const auto look = parts_.board.sampler().slot;
  if (slot && slot->exists && look && slot->lag_bytes() > 0) {
    const WallTime wall = parts_.clock.WallNow();
    time = std::max(time, slot->lag_age.value_or(Micros(0)) + (wall - *look));
    if (!slot->row.active && slot->row.inactive_since) {
      time = std::max(time, wall - *slot->row.inactive_since);
    }
  }
  return std::max(time, Micros(0));
}

// A standby is not cut off: another instance publishes.
RelayFigures StatusReporter::Figures(MonoTime now, const Session* session) const {
  const bool cut_off =
      parts_.state.phase == RunState::Phase::kDisconnected && !parts_.state.finished && !stood_by_;
  WR_CHECK(parts_.tracker.records_in_flight() == 0 || parts_.tracker.transactions_in_flight() > 0,
           "each record in flight belongs to a transaction");
  const bool skips_origins = parts_.config.source.origin == OriginFilter::kNone;
  const auto skipped = static_cast<uint64_t>(parts_.metrics.events_skipped["origin"].Value());
  return {.acknowledged = acknowledged_,
          .records_in_flight = parts_.tracker.records_in_flight(),
          .bytes_in_flight = parts_.tracker.bytes_in_flight(),
          .transactions_in_flight = parts_.tracker.transactions_in_flight(),
          .oldest_commit = OldestUnpublished(session),
          .cut_off_since = cut_off ? std::optional(parts_.clock.WallNow() - TimeCutOff(now))
                                   : SilentSince(now, session),
          .last_acknowledged = last_published_,
          .skipped_origin_rows = skips_origins ? std::optional(skipped) : std::nullopt,
          .received = parts_.tracker.received(),
          .frontier = parts_.tracker.frontier(),
          .backend_pid = session != nullptr ? session->backend_pid() : 0};
}

// A record of another timeline, or from before a gap was accepted, is not comparable: then nothing
// may be confirmed.
std::optional<ProgressStatus> StatusReporter::DescribeProgress() const {
  if (!parts_.config.pipeline.records_progress()) {
    return std::nullopt;
  }
  const ProgressRecorder& recorder = parts_.recorder;
  ProgressStatus status{.enabled = recorder.enabled(), .topic = recorder.topic()};
  const auto& recorded = recorder.recorded();
  if (!recorder.enabled() || !recorded) {
    return status;
  }
  status.frontier = recorded->frontier;
  if (recorded->written != WallTime()) {
    status.written = recorded->written;
  }
  if (const Lsn confirmable = recorder.confirmable(); confirmable.valid()) {
    const Lsn end = recorder.lacks_events() ? parts_.tracker.frontier() : confirmable;
    status.ahead_bytes = BytesBetween(confirmable, end);
  }
  return status;
}

// Without a claim nothing else is known: an earlier transaction was committed or aborted.
std::optional<TransactionStatus> StatusReporter::DescribeTransactions(MonoTime now) const {
  const TransactionCommitter& committer = parts_.committer;
  if (!committer.enabled()) {
    return std::nullopt;
  }
  const TransactionHistory& history = parts_.monitor.transactions();
  TransactionStatus status{
      .committed = history.committed, .failure = history.failure, .failed = history.failed};
  if (!history.claimed) {
    return status;
  }
  const auto opened = committer.opened();
  status.state = committer.committing() ? TransactionState::kCommitting
                 : opened               ? TransactionState::kOpen
                                        : TransactionState::kIdle;
  if (opened) {
    status.since = parts_.clock.WallNow() - (now - *opened);
  }
  return status;
}

// A median needs all three stages; a point without one of them has none.
void StatusReporter::AddPoint(MonoTime now) {
  const MonoTime since = last_point_.value_or(now);
  last_point_ = since;
  WR_CHECK(now >= since, "time does not move backwards");
  if (now - since < kPointInterval) {
    return;
  }
  const auto postgres = stages_.postgres.TakeMedian();
  const auto relay = stages_.relay.TakeMedian();
  const auto kafka = stages_.kafka.TakeMedian();
  const bool all = postgres && relay && kafka;
  parts_.board.AddPoint(
      {.at = parts_.clock.WallNow(),
       .span = now - since,
       .events = latencies_.count(),
       .median = latencies_.Quantile(0.5),
       .slowest = latencies_.Quantile(0.99),
       .stages = all ? std::optional(StageMedians{*postgres, *relay, *kafka}) : std::nullopt,
       .lag_bytes = std::nullopt});
  latencies_.Clear();
  last_point_ = now;
}

// Gauges that do not apply are removed rather than set to 0: an alert on 0 would fire on every
// standby.
void StatusReporter::UpdateGauges(MonoTime now, RelayState state, const Session* session) {
  Metrics& metrics = parts_.metrics;
  metrics.state.SetOnly(NameOf(state));
  metrics.replication_connected->Set(parts_.state.phase == RunState::Phase::kStreaming ? 1 : 0);
  metrics.leader->Set(parts_.state.phase == RunState::Phase::kStreaming ? 1 : 0);
  metrics.gap_held->Set(parts_.gaps.held() ? 1 : 0);
  // A disconnected standby has no knowledge of what its leader publishes.
  if (stood_by_ || (parts_.state.finished && !parts_.state.has_streamed)) {
    ClearLeaderGauges();
    metrics.oldest_unpublished_age_seconds.Clear();
    return;
  }
  const auto seconds_of = [](auto duration) {
    return std::max(0.0, std::chrono::duration<double>(duration).count());
  };
  const WallTime wall = parts_.clock.WallNow();
  const auto oldest = OldestUnpublished(session);
  // Also in a process that has never streamed: a restart during an outage must not silence the
  // alerts.
  const auto silent = SilentSince(now, session);
  const double cut_off = parts_.state.phase == RunState::Phase::kDisconnected
                             ? seconds_of(TimeCutOff(now))
                         : silent ? seconds_of(wall - *silent)
                                  : 0;
  metrics.oldest_unpublished_age_seconds->Set(
      std::max(oldest ? seconds_of(wall - *oldest) : 0, cut_off));
  if (!parts_.state.has_streamed) {
    ClearLeaderGauges();
    return;
  }
  metrics.inflight_records->Set(static_cast<double>(parts_.tracker.records_in_flight()));
  metrics.inflight_bytes->Set(static_cast<double>(parts_.tracker.bytes_in_flight()));
  metrics.inflight_transactions->Set(static_cast<double>(parts_.tracker.transactions_in_flight()));
  const PipelineConfig& limits = parts_.config.pipeline;
  metrics.inflight_records_limit->Set(static_cast<double>(limits.max_in_flight_records));
  metrics.inflight_bytes_limit->Set(static_cast<double>(limits.max_in_flight_bytes));
  metrics.replication_received_lsn->Set(static_cast<double>(parts_.tracker.received().value()));
  metrics.replication_flushed_lsn->Set(static_cast<double>(parts_.tracker.frontier().value()));
  UpdateProgressGauges();
  UpdateTransactionGauge(now);
  if (last_published_) {
    metrics.last_published_timestamp->Set(seconds_of(last_published_->time_since_epoch()));
  }
}

// 0 and not absent without a record: otherwise the alert would not fire when the first one fails.
void StatusReporter::UpdateProgressGauges() {
  Metrics& metrics = parts_.metrics;
  if (!parts_.recorder.enabled()) {
    metrics.progress_recorded_lsn.Clear();
    metrics.progress_recorded_timestamp.Clear();
    return;
  }
  const auto& recorded = parts_.recorder.recorded();
  metrics.progress_recorded_lsn->Set(recorded ? static_cast<double>(recorded->frontier.value())
                                              : 0);
  if (recorded) {
    const std::chrono::duration<double> written = recorded->written.time_since_epoch();
    metrics.progress_recorded_timestamp->Set(std::max(0.0, written.count()));
  }
}

void StatusReporter::UpdateTransactionGauge(MonoTime now) {
  if (parts_.committer.enabled()) {
    const auto opened = parts_.committer.opened();
    const std::chrono::duration<double> age = opened ? now - *opened : Micros(0);
    parts_.metrics.kafka_transaction_age->Set(age.count());
  }
}

// Clears the gauges that only the holder of the slot can report. Another instance may hold it now,
// and reports them.
void StatusReporter::ClearLeaderGauges() {
  Metrics& metrics = parts_.metrics;
  for (auto* gauge : {&metrics.inflight_records, &metrics.inflight_bytes,
                      &metrics.inflight_transactions, &metrics.inflight_records_limit,
                      &metrics.inflight_bytes_limit, &metrics.replication_received_lsn,
                      &metrics.replication_flushed_lsn, &metrics.progress_recorded_lsn,
                      &metrics.progress_recorded_timestamp, &metrics.kafka_transaction_age}) {
    gauge->Clear();
  }
}

}  // namespace walrelay
