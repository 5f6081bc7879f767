#include "status/relay_description.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/check.h"
#include "base/text.h"
#include "status/cut_off.h"
#include "status/gap_words.h"
#include "walrelay/error.h"

namespace walrelay {
namespace {

using Phase = RelayView::Phase;

// Kafka is slow at times (leader election, a long garbage collection); a stall is reported only
// after this time.
constexpr Micros kStallNotice = std::chrono::seconds(5);
// Different thresholds, so that the state does not flap.
constexpr Micros kBehind = std::chrono::seconds(2);
constexpr Micros kCaughtUp = std::chrono::milliseconds(500);

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

// Why no progress was recorded for seconds; OK otherwise. Events may flow to other topics
// meanwhile, but the slot retains more and more WAL.
absl::Status RecordingStatus(const RelayView& view) {
  const auto& record = view.record;
  if (!record || !record->waiting_since || view.now - *record->waiting_since <= kStallNotice) {
    return absl::OkStatus();
  }
  if (!view.stall.ok()) {
    return view.stall;
  }
  const absl::Status& error = view.kafka_trouble;
  const bool of_one_broker = HasCode(error, ErrorCode::kKafkaUnreachable) && view.kafka_reachable;
  if (!error.ok() && !of_one_broker) {
    return error;
  }
  return Error(ErrorCode::kKafkaStalled,
               fmt::format("topic {}: the progress record is not acknowledged; the slot is not "
                           "confirmed without it{}{}",
                           record->topic, error.ok() ? "" : "; ", MessageOf(error)));
}

// Why nothing was acknowledged or handled for seconds, in Kafka, the log or Postgres; OK otherwise.
absl::Status StallStatus(const RelayView& view) {
  const RelayView::Stream& stream = *view.stream;
  const bool unacknowledged =
      view.records_in_flight > 0 && view.now - view.last_delivery > kStallNotice;
  const bool stalled = stream.stalled_since && view.now - *stream.stalled_since > kStallNotice;
  if (stalled && !stream.unseen.ok()) {
    return stream.unseen;
  }
  if (!unacknowledged && !stalled) {
    return RecordingStatus(view);
  }
  if (stream.waits_for_log) {
    return Error(ErrorCode::kLogBlocked, "rows to be skipped wait for it");
  }
  if (!view.stall.ok()) {
    return view.stall;  // another client has asked the brokers
  }
  return !view.kafka_trouble.ok()
             ? view.kafka_trouble
             : Error(ErrorCode::kKafkaStalled,
                     fmt::format("{} records in flight", view.records_in_flight));
}

// An error of the present session is more exact than one remembered from an earlier session; a
// remembered one lasts until there is progress, because the same row may fail again.
RelayStatus DescribeStream(const RelayView& view, RelayState shown) {
  const RelayView::Stream& stream = *view.stream;
  if (!stream.blocking_error.ok()) {
    return {RelayState::kBlocked, stream.blocking_error, stream.blocked_row};
  }
  if (!view.blocked_error.ok()) {
    return {RelayState::kBlocked, view.blocked_error, ""};
  }
  // Without the transactional id nothing is published, whether or not an event waits.
  if (view.transactions) {
    const absl::Status& denied = view.transactions->history.claim_error;
    if (!denied.ok() && NeedsOperator(denied)) {
      return {RelayState::kBlocked, denied, ""};
    }
  }
  if (const absl::Status stall = StallStatus(view); !stall.ok()) {
    return {RelayState::kDegraded, stall, ""};
  }
  if (const auto silence = SilenceOf(view); silence && !silence->error.ok()) {
    return {RelayState::kDegraded, silence->error, ""};
  } else if (silence && silence->lasts > kLongDecoding) {
    return {RelayState::kCatchingUp, absl::OkStatus(), ""};
  }
  const bool behind = stream.lag > (shown == RelayState::kCatchingUp ? kCaughtUp : kBehind);
  return {behind ? RelayState::kCatchingUp : RelayState::kStreaming, absl::OkStatus(), ""};
}

// In order of precedence: what an operator must do hides what the relay does by itself.
RelayStatus DescribeState(const RelayView& view, RelayState shown) {
  const std::optional<RelayView::Held>& held = view.held;
  if (view.finished) {
    return {.state = RelayState::kStopped,
            .error = view.result,
            .gap = held ? std::optional(held->gap) : std::nullopt};
  }
  if (view.draining) {
    return {RelayState::kDraining, absl::OkStatus(), ""};
  }
  if (held) {
    return {.state = RelayState::kBlocked,
            .error = held->gap.error,
            .detail = fmt::format("gap {}: {}{}", held->gap.id, RangeOf(held->gap),
                                  held->accepted ? ", accepted" : ""),
            .gap = held->gap,
            .gap_accepted = held->accepted,
            .gap_error = held->error,
            .gap_checks = held->checks};
  }
  switch (view.phase) {
    case Phase::kWaitingForSlot:
      return {RelayState::kStandby, absl::OkStatus(), MessageOf(view.last_error)};
    case Phase::kDisconnected: {
      const bool blocked = !view.last_error.ok() && NeedsOperator(view.last_error);
      const bool first = !view.has_streamed && view.last_error.ok();
      return {blocked ? RelayState::kBlocked
              : first ? RelayState::kStarting
                      : RelayState::kDegraded,
              view.last_error, ""};
    }
    case Phase::kStreaming:
      break;
  }
  return DescribeStream(view, shown);
}

// The condition that ends a gap, as text for operators.
std::string WaitOfGap(const RelayView::Held& held, const absl::Status& last_error) {
  const auto problem = [](const absl::Status& error, std::string_view before) {
    return fmt::format("another problem to be fixed before {}: {} {}", before,
                       ToString(CodeOf(error)), MessageOf(error));
  };
  if (!held.error.ok()) {
    return problem(held.error, "the gap can be accepted");
  }
  if (!held.accepted) {
    return fmt::format("an operator: {}", NextStepOf(held.gap));
  }
  return last_error.ok() || ReactionTo(last_error) == Reaction::kGap
             ? "the next check of the source, after which publishing continues"
             : problem(last_error, "publishing continues");
}

// The condition that publishing waits for, as text for operators; "" while nothing is waited for.
std::string WaitOf(const RelayView& view) {
  if (view.finished) {
    return "";
  }
  if (view.held) {
    return WaitOfGap(*view.held, view.last_error);
  }
  if (view.phase == Phase::kWaitingForSlot) {
    return "the slot, which another process holds";
  }
  if (view.stuck && view.stuck->accepted) {
    return "the records in flight, after which publishing continues behind the transaction";
  }
  if (view.phase == Phase::kDisconnected) {
    return fmt::format("the next connection attempt, in {}",
                       FormatDuration(std::max(view.retry_at - view.now, Micros(0))));
  }
  if (view.draining) {
    return "Kafka to acknowledge the records in flight before stopping";
  }
  const std::string_view reason = view.stream->waits_for;
  const bool unclaimed = view.transactions && !view.transactions->history.claimed;
  return std::string(!reason.empty() && unclaimed ? "the claim of the transactional id" : reason);
}

// A standby is not cut off: another instance publishes.
RelayFigures FiguresOf(const RelayView& view) {
  const bool cut_off = view.phase == Phase::kDisconnected && !view.finished && !view.stood_by;
  return {
      .acknowledged = view.acknowledged,
      .records_in_flight = view.records_in_flight,
      .bytes_in_flight = view.bytes_in_flight,
      .transactions_in_flight = view.transactions_in_flight,
      .oldest_commit = view.oldest_commit,
      .cut_off_since = cut_off ? std::optional(view.wall - TimeCutOff(view)) : SilentSince(view),
      .last_acknowledged = view.last_acknowledged,
      .incoming_bytes = view.stream ? view.stream->incoming_bytes : 0,
      .skipped_origin_rows = view.skipped_origin_rows,
      .received = view.received,
      .frontier = view.frontier,
      .backend_pid = view.stream ? view.stream->backend_pid : 0};
}

// A record of another timeline, or from before a gap was accepted, is not comparable: then nothing
// may be confirmed.
ProgressStatus ProgressOf(const RelayView::Record& record, Lsn frontier) {
  ProgressStatus status{.enabled = record.enabled, .topic = record.topic};
  if (!record.enabled || !record.frontier) {
    return status;
  }
  status.frontier = *record.frontier;
  if (record.written != WallTime()) {
    status.written = record.written;
  }
  if (record.confirmable.valid()) {
    const Lsn end = record.lacks_events ? frontier : record.confirmable;
    status.ahead_bytes = BytesBetween(record.confirmable, end);
  }
  return status;
}

// Without a claim nothing else is known: an earlier transaction was committed or aborted.
TransactionStatus TransactionsOf(const RelayView::Transactions& seen, MonoTime now, WallTime wall) {
  const TransactionHistory& history = seen.history;
  TransactionStatus status{
      .committed = history.committed, .failure = history.failure, .failed = history.failed};
  if (!history.claimed) {
    return status;
  }
  status.state = seen.committing ? TransactionState::kCommitting
                 : seen.opened   ? TransactionState::kOpen
                                 : TransactionState::kIdle;
  if (seen.opened) {
    status.since = wall - (now - *seen.opened);
  }
  return status;
}

}  // namespace

RelayStatus Describe(const RelayView& view, RelayState shown) {
  WR_CHECK(view.stream.has_value() == (view.phase == Phase::kStreaming),
           "a session exists exactly while streaming");
  WR_CHECK(view.records_in_flight == 0 || view.transactions_in_flight > 0,
           "each record in flight belongs to a transaction");
  RelayStatus status = DescribeState(view, shown);
  status.waits_for = WaitOf(view);
  status.accepted_gap = view.accepted_gap;
  if (view.stuck && !view.finished) {
    status.stuck = view.stuck->gap;
  }
  status.figures = FiguresOf(view);
  if (view.record) {
    status.progress = ProgressOf(*view.record, view.frontier);
  }
  if (view.transactions) {
    status.transactions = TransactionsOf(*view.transactions, view.now, view.wall);
  }
  WR_CHECK(status.state != RelayState::kBlocked || !status.error.ok(), "what blocks is an error");
  return status;
}

}  // namespace walrelay
