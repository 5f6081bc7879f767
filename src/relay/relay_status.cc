// The relay's published status: its state, the cause, and the gauges.

#include <fmt/format.h>

#include <algorithm>

#include "base/log.h"
#include "base/text.h"
#include "relay/relay.h"
#include "walrelay/error.h"

namespace walrelay {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

// Kafka is slow at times (leader election, a long garbage collection); a stall is reported only
// after this time.
constexpr Micros kStallNotice = seconds(5);
constexpr Micros kGaugeInterval = milliseconds(200);
constexpr Micros kPointInterval = seconds(10);
// Different thresholds, so that the state does not flap.
constexpr Micros kBehind = seconds(2);
constexpr Micros kCaughtUp = milliseconds(500);

// Whether an operator must act before events flow again.
bool NeedsSomebody(const absl::Status& error) {
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

RelayStatus Relay::Describe(MonoTime now) const {
  if (finished_) {
    return {.state = RelayState::kStopped, .error = result_, .gap = gap_};
  }
  if (draining_) {
    return {RelayState::kDraining, absl::OkStatus(), ""};
  }
  if (gap_) {
    return {.state = RelayState::kBlocked,
            .error = gap_->error,
            .detail = fmt::format("gap {}: {}{}", gap_->id, RangeOf(*gap_),
                                  gap_accepted_ ? ", accepted" : ""),
            .gap = gap_,
            .gap_accepted = gap_accepted_,
            .gap_obstacle = gap_obstacle_,
            .gap_looks = gap_looks_};
  }
  switch (phase_) {
    case Phase::kWaitingForSlot:
      return {RelayState::kStandby, absl::OkStatus(), MessageOf(last_error_)};
    case Phase::kDisconnected: {
      const bool blocked = !last_error_.ok() && NeedsSomebody(last_error_);
      const bool first = !has_streamed_ && last_error_.ok();
      return {blocked ? RelayState::kBlocked
              : first ? RelayState::kStarting
                      : RelayState::kDegraded,
              last_error_, ""};
    }
    case Phase::kStreaming:
      break;
  }
  if (!session_->obstacle().ok()) {
    const auto& row = pipeline_.blocked_row();
    return {RelayState::kBlocked, session_->obstacle(),
            row ? fmt::format("table={} {} lsn={} xid={}", row->table, row->row,
                              row->commit_lsn.ToString(), row->xid)
                : ""};
  }
  if (!standing_.ok()) {
    return {RelayState::kBlocked, standing_, ""};
  }
  if (const absl::Status waiting = Waiting(now); !waiting.ok()) {
    return {RelayState::kDegraded, waiting, ""};
  }
  const bool was_behind = published_state_ == RelayState::kCatchingUp;
  const bool behind = session_->lag() > (was_behind ? kCaughtUp : kBehind);
  return {behind ? RelayState::kCatchingUp : RelayState::kStreaming, absl::OkStatus(), ""};
}

// The cause of a stall longer than kStallNotice, in Kafka, the log or Postgres; OK without one.
absl::Status Relay::Waiting(MonoTime now) const {
  const bool unacknowledged =
      tracker_.records_in_flight() > 0 && now - last_delivery_ > kStallNotice;
  const auto held_since = session_->held_since();
  const bool held = held_since && now - *held_since > kStallNotice;
  if (const absl::Status unseen = session_->unseen(); held && !unseen.ok()) {
    return unseen;
  }
  if (!unacknowledged && !held) {
    return absl::OkStatus();
  }
  if (session_->waits_for_log()) {
    return Error(ErrorCode::kLogBlocked, "rows to be skipped wait for it");
  }
  const absl::Status trouble = producer_ != nullptr ? producer_->Trouble() : producer_error_;
  if (!trouble.ok()) {
    return trouble;
  }
  return Error(ErrorCode::kKafkaStalled,
               fmt::format("{} records in flight", tracker_.records_in_flight()));
}

void Relay::PublishStatus(MonoTime now) {
  if (phase_ != Phase::kDisconnected) {
    stood_by_ = phase_ == Phase::kWaitingForSlot;
  }
  if (now < gauges_due_ && !finished_) {
    return;
  }
  gauges_due_ = now + kGaugeInterval;
  NoteProgress();
  RelayStatus status = Describe(now);
  const bool same_error = status.error.ok() == published_error_.ok() &&
                          (status.error.ok() || CodeOf(status.error) == CodeOf(published_error_));
  if (status.state != published_state_ || !same_error) {
    if (status.state == RelayState::kBlocked ||
        (status.state == RelayState::kDegraded && session_ != nullptr)) {
      LogStatus(LogLevel::kError, NameOf(status.state), status.error, {{"where", status.detail}});
      parts_.board.NoteError(status.error, parts_.clock.WallNow());
    } else if (status.state != RelayState::kStopped) {
      LogInfo("state", NameOf(status.state));
    }
    published_since_ = status.state != published_state_ ? parts_.clock.WallNow() : published_since_;
    published_state_ = status.state;
    published_error_ = status.error;
  }
  status.since = published_since_;
  status.waits_for = WaitsFor(now);
  status.figures = Figures(now);
  UpdateGauges(now, status.state);
  AddPoint(now);
  parts_.board.Publish(std::move(status));
  parts_.metrics.ready->Set(parts_.board.ready() ? 1 : 0);
}

// The condition that publishing waits for, as text for operators.
std::string Relay::WaitsFor(MonoTime now) const {
  if (finished_) {
    return "";
  }
  if (gap_) {
    if (!gap_obstacle_.ok()) {
      return fmt::format("another problem to be fixed before the gap can be accepted: {} {}",
                         ToString(CodeOf(gap_obstacle_)), MessageOf(gap_obstacle_));
    }
    return gap_accepted_ ? "the next check of the source, after which publishing continues"
                         : "an operator to accept the gap (walrelay resume --accept-gap)";
  }
  if (phase_ == Phase::kWaitingForSlot) {
    return "the slot, which another process holds";
  }
  if (phase_ == Phase::kDisconnected) {
    return fmt::format("the next connection attempt, in {}",
                       HumanDuration(std::max(retry_at_ - now, Micros(0))));
  }
  if (draining_) {
    return "Kafka to acknowledge the records in flight before stopping";
  }
  return std::string(session_->waits_for());
}

// Commit time of the oldest known event that is not acknowledged, including a row that waits to be
// produced.
std::optional<WallTime> Relay::OldestUnpublished() const {
  std::optional<WallTime> oldest = tracker_.oldest_commit_time();
  const auto count = [&](const std::optional<WallTime>& commit) {
    oldest = commit && oldest ? std::min(oldest, commit) : std::max(oldest, commit);
  };
  if (session_ == nullptr) {
    count(oldest_unread_);
  } else if (session_->held_since() && pipeline_.in_transaction()) {
    count(pipeline_.last_commit_time());
  }
  return oldest;
}

// How long nothing has been read, as far as is known: since this process lost its connection, or
// since the slot became inactive or started to lag.
Micros Relay::TimeCutOff(MonoTime now) const {
  Micros time = now - disconnected_since_;
  const auto slot = parts_.board.slot();
  const auto look = parts_.board.looks().slot;
  if (slot && slot->exists && look && slot->lag_bytes() > 0) {
    const WallTime wall = parts_.clock.WallNow();
    time = std::max(time, slot->lag_age + (wall - *look));
    if (!slot->active && slot->inactive_since) {
      time = std::max(time, wall - *slot->inactive_since);
    }
  }
  return std::max(time, Micros(0));
}

RelayFigures Relay::Figures(MonoTime now) const {
  const bool cut_off = phase_ == Phase::kDisconnected && !finished_ && !stood_by_;
  return {.acknowledged = acknowledged_,
          .records_in_flight = tracker_.records_in_flight(),
          .bytes_in_flight = tracker_.bytes_in_flight(),
          .transactions_in_flight = tracker_.transactions_in_flight(),
          .oldest_commit = OldestUnpublished(),
          .cut_off_since =
              cut_off ? std::optional(parts_.clock.WallNow() - TimeCutOff(now)) : std::nullopt,
          .last_acknowledged = last_published_,
          .received = tracker_.received(),
          .frontier = tracker_.frontier()};
}

void Relay::AddPoint(MonoTime now) {
  const MonoTime since = last_point_.value_or(now);
  last_point_ = since;
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

void Relay::UpdateGauges(MonoTime now, RelayState state) {
  Metrics& metrics = parts_.metrics;
  metrics.state.SetOnly(NameOf(state));
  metrics.replication_connected->Set(phase_ == Phase::kStreaming ? 1 : 0);
  metrics.leader->Set(phase_ == Phase::kStreaming ? 1 : 0);
  metrics.gap_held->Set(gap_ ? 1 : 0);
  // A disconnected standby has no knowledge of what its leader publishes.
  if (stood_by_ || (finished_ && !has_streamed_)) {
    ClearLeaderGauges();
    metrics.oldest_unpublished_age_seconds.Clear();
    return;
  }
  const auto seconds_of = [](auto duration) {
    return std::max(0.0, std::chrono::duration<double>(duration).count());
  };
  const WallTime wall = parts_.clock.WallNow();
  const auto oldest = OldestUnpublished();
  // Also in a process that has never streamed: a restart during an outage must not silence the
  // alerts.
  const double cut_off = phase_ == Phase::kDisconnected ? seconds_of(TimeCutOff(now)) : 0;
  metrics.oldest_unpublished_age_seconds->Set(
      std::max(oldest ? seconds_of(wall - *oldest) : 0, cut_off));
  if (!has_streamed_) {
    ClearLeaderGauges();
    return;
  }
  metrics.inflight_records->Set(static_cast<double>(tracker_.records_in_flight()));
  metrics.inflight_bytes->Set(static_cast<double>(tracker_.bytes_in_flight()));
  metrics.inflight_transactions->Set(static_cast<double>(tracker_.transactions_in_flight()));
  const PipelineConfig& limits = parts_.config.pipeline;
  metrics.inflight_records_limit->Set(static_cast<double>(limits.max_in_flight_records));
  metrics.inflight_bytes_limit->Set(static_cast<double>(limits.max_in_flight_bytes));
  metrics.replication_received_lsn->Set(static_cast<double>(tracker_.received().value()));
  metrics.replication_flushed_lsn->Set(static_cast<double>(tracker_.frontier().value()));
  if (last_published_) {
    metrics.last_published_timestamp->Set(seconds_of(last_published_->time_since_epoch()));
  }
}

// Clears the gauges that only the holder of the slot can report. Another instance may hold it now,
// and reports them.
void Relay::ClearLeaderGauges() {
  Metrics& metrics = parts_.metrics;
  for (auto* gauge :
       {&metrics.inflight_records, &metrics.inflight_bytes, &metrics.inflight_transactions,
        &metrics.inflight_records_limit, &metrics.inflight_bytes_limit,
        &metrics.replication_received_lsn, &metrics.replication_flushed_lsn}) {
    gauge->Clear();
  }
}

}  // namespace walrelay
