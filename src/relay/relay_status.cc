// What the relay tells the world of itself: its state and why, and the gauges.

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

// Kafka takes its time now and then (a new leader, a long collection); after this it is said aloud.
constexpr Micros kStallNotice = seconds(5);
constexpr Micros kGaugeInterval = milliseconds(200);
constexpr Micros kPointInterval = seconds(10);
// Apart, so that the state does not flap.
constexpr Micros kBehind = seconds(2);
constexpr Micros kCaughtUp = milliseconds(500);

}  // namespace

RelayStatus Relay::Describe(MonoTime now) const {
  if (finished_) {
    return {RelayState::kStopped, result_, ""};
  }
  if (draining_) {
    return {RelayState::kDraining, absl::OkStatus(), ""};
  }
  switch (phase_) {
    case Phase::kWaitingForSlot:
      return {RelayState::kStandby, absl::OkStatus(), MessageOf(last_error_)};
    case Phase::kDisconnected: {
      const bool blocked = !last_error_.ok() && ReactionTo(last_error_) == Reaction::kBlocked;
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

// What Kafka has kept us waiting for beyond the ordinary.
absl::Status Relay::Waiting(MonoTime now) const {
  const bool unacknowledged =
      tracker_.records_in_flight() > 0 && now - last_delivery_ > kStallNotice;
  const auto held_since = session_->held_since();
  if (!unacknowledged && !(held_since && now - *held_since > kStallNotice)) {
    return absl::OkStatus();
  }
  const absl::Status trouble = producer_->Trouble();
  if (!trouble.ok()) {
    return trouble;
  }
  return Error(ErrorCode::kKafkaStalled,
               fmt::format("{} records wait", tracker_.records_in_flight()));
}

void Relay::PublishStatus(MonoTime now) {
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
  status.figures = Figures();
  UpdateGauges(now, status.state);
  AddPoint(now);
  parts_.board.Publish(std::move(status));
  parts_.metrics.ready->Set(parts_.board.ready() ? 1 : 0);
}

// In words, for whoever wonders why nothing moves.
std::string Relay::WaitsFor(MonoTime now) const {
  if (finished_) {
    return "";
  }
  if (phase_ == Phase::kWaitingForSlot) {
    return "the slot, which another process holds";
  }
  if (phase_ == Phase::kDisconnected) {
    return fmt::format("the next attempt, in {}",
                       HumanDuration(std::max(retry_at_ - now, Micros(0))));
  }
  if (draining_) {
    return "Kafka to acknowledge what is in flight, before it stops";
  }
  return std::string(session_->waits_for());
}

RelayFigures Relay::Figures() const {
  return {.acknowledged = acknowledged_,
          .records_in_flight = tracker_.records_in_flight(),
          .bytes_in_flight = tracker_.bytes_in_flight(),
          .transactions_in_flight = tracker_.transactions_in_flight(),
          .oldest_commit = tracker_.oldest_commit_time(),
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
  if (!has_streamed_ || phase_ == Phase::kWaitingForSlot) {
    ClearLeaderGauges();
    return;
  }
  const auto seconds_of = [](auto duration) {
    return std::max(0.0, std::chrono::duration<double>(duration).count());
  };
  const WallTime wall = parts_.clock.WallNow();
  const auto oldest = tracker_.oldest_commit_time();
  metrics.inflight_events->Set(static_cast<double>(tracker_.records_in_flight()));
  metrics.inflight_bytes->Set(static_cast<double>(tracker_.bytes_in_flight()));
  metrics.inflight_transactions->Set(static_cast<double>(tracker_.transactions_in_flight()));
  const PipelineConfig& limits = parts_.config.pipeline;
  metrics.inflight_events_limit->Set(static_cast<double>(limits.max_in_flight_records));
  metrics.inflight_bytes_limit->Set(static_cast<double>(limits.max_in_flight_bytes));
  metrics.replication_received_lsn->Set(static_cast<double>(tracker_.received().value()));
  metrics.replication_flushed_lsn->Set(static_cast<double>(tracker_.frontier().value()));
  // Cut off, nobody knows what was committed since; it is at most as old as the cut.
  const double cut_off = phase_ == Phase::kDisconnected ? seconds_of(now - disconnected_since_) : 0;
  metrics.oldest_unpublished_age_seconds->Set(
      std::max(oldest ? seconds_of(wall - *oldest) : 0, cut_off));
  if (last_published_) {
    metrics.last_published_timestamp->Set(seconds_of(last_published_->time_since_epoch()));
  }
}

// What only the holder of the slot can say. Another instance may hold it now, and says it.
void Relay::ClearLeaderGauges() {
  Metrics& metrics = parts_.metrics;
  for (auto* gauge : {&metrics.inflight_events, &metrics.inflight_bytes,
                      &metrics.inflight_transactions, &metrics.inflight_events_limit,
                      &metrics.inflight_bytes_limit, &metrics.replication_received_lsn,
                      &metrics.replication_flushed_lsn, &metrics.oldest_unpublished_age_seconds}) {
    gauge->Clear();
  }
}

}  // namespace walrelay
