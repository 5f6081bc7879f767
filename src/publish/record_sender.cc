#include "publish/record_sender.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "publish/row_errors.h"
#include "walrelay/error.h"

namespace walrelay {

RecordSender::RecordSender(Sink& sink, AckTracker& tracker, Metrics& metrics, const Clock& clock,
                           Observer observer)
    : sink_(sink),
      tracker_(tracker),
      metrics_(metrics),
      clock_(clock),
      observer_(std::move(observer)) {}

// A row that is sent alone is offered many times: each call is one step of its attempt.
absl::StatusOr<Offered> RecordSender::Send(const Record& record, Position position) {
  WR_CHECK(position.index > 0, "a row has a position");
  WR_CHECK(tracker_.in_transaction(), "a record belongs to an open transaction");
  return SendsAlone(position) ? SendAlone(record, position) : Produce(record, position);
}

// The row is handled only after the brokers have acknowledged or refused its record.
absl::StatusOr<Offered> RecordSender::SendAlone(const Record& record, Position position) {
  switch (step_.attempt()) {
    case SingleStep::Attempt::kNone: {
      if (tracker_.records_in_flight() > 0) {
        return Wait::kReport;
      }
      // The token is taken before the record is produced: the same as Produce() uses.
      const DeliveryToken token = tracker_.token();
      WR_ASSIGN_OR_RETURN(const Offered offered, Produce(record, position));
      if (!offered.handled() || offered.stored()) {
        return offered;
      }
      WR_CHECK(tracker_.records_in_flight() == 1, "a record is offered alone");
      step_.OnOffered(token);
      return Wait::kReport;
    }
    // Only its report changes the attempt.
    case SingleStep::Attempt::kInFlight:
      WR_CHECK(tracker_.records_in_flight() == 1, "a record sent alone is the only one in flight");
      return Wait::kReport;
    case SingleStep::Attempt::kDelivered:
      WR_CHECK(tracker_.records_in_flight() == 0, "nothing follows a record sent alone");
      step_.EndAttempt();
      return Wait::kNone;
    case SingleStep::Attempt::kRefused:
      break;
  }
  WR_CHECK(tracker_.records_in_flight() == 0, "a record refused alone is no longer in flight");
  const absl::Status refusal = step_.TakeError();
  if (ScopeOf(refusal) == Scope::kProducer) {
    return Wait::kQueue;  // not the record's fault: it is offered to the next sink again
  }
  return RowErrorOf(refusal, {.bytes = record.window_bytes() - Record::kOverheadBytes,
                              .time = record.timestamp,
                              .commit_time = tracker_.open_transaction().commit_time,
                              .now = clock_.WallNow()});
}

// Handled: the record is in flight, unless it is stored.
// The sink copies the record before it returns, so its views need not outlive the call. The
// tracker counts it only after it was accepted; no report can arrive in between, because reports
// arrive in Poll() only.
absl::StatusOr<Offered> RecordSender::Produce(const Record& record, Position position) {
  Record positioned = record;
  if (history_ && record.topic != dead_letter_topic_) {
    const PublishedTransaction& transaction = tracker_.open_transaction();
    positioned.position = RecordPosition{.position = position,
                                         .xid = transaction.xid,
                                         .commit_time = transaction.commit_time,
                                         .history = history_->current(),
                                         .routing = history_->routing};
  }
  WR_ASSIGN_OR_RETURN(const Offered offered, sink_.Produce(positioned, tracker_.token()));
  if (!offered.handled() || offered.stored()) {
    return offered;
  }
  last_offered_ = std::max(last_offered_, position);
  tracker_.OnProduced(record.window_bytes(), position);
  return Wait::kNone;
}

// Up to the last record offered: all of them failed with the sink, and any of them may be
// refused as well.
void RecordSender::StepThrough(Position refused) {
  step_.Cover(refused, std::max(refused, last_offered_));
}

void RecordSender::SetSettledBefore(std::optional<Position> position) {
  settled_before_ = position.value_or(Position());
}

void RecordSender::ForgetPositions() {
  step_.Clear();
  last_offered_ = Position();
  settled_before_ = Position();
}

// A row whose record was sent alone has not been handled, and is offered again: its record may be a
// dead letter, which is logged only when it was acknowledged.
void RecordSender::EndSession(std::optional<Position> next) {
  settled_before_ = std::max(settled_before_, next.value_or(Position()));
  step_.EndAttempt();
}

// Without a record in flight every settled row is acknowledged, and remains settled.
void RecordSender::OnSinkDestroyed() {
  failed_ = {};
  if (tracker_.records_in_flight() > 0) {
    settled_before_ = {};
  }
}

// A report from before a Reset() is not an event of this stream any more: it counts nowhere.
void RecordSender::OnDelivered(const Delivery& delivery) {
  const auto commit_time = tracker_.OnDelivered(delivery.token, delivery.bytes);
  if (!commit_time) {
    return;
  }
  WR_CHECK(failed_.lost <= tracker_.records_in_flight(), "no lost record counts as acknowledged");
  (void)step_.OnDelivered(delivery.token);
  if (observer_) {
    observer_(delivery, *commit_time);
  }
}

void RecordSender::OnFailed(const DeliveryFailure& failure) {
  metrics_.produce_errors[ToString(CodeOf(failure.error))].Increment();
  // One report names the cause; the others failed with it and carry no cause of their own.
  if (failed_.cause.ok() || ScopeOf(failed_.cause) == Scope::kProducer) {
    failed_.cause = failure.error;
  }
  // A record sent alone: its row has not been handled, so the refusal concerns only that row.
  if (step_.OnRefused(failure.token, failure.error)) {
    tracker_.OnRefused(failure.token, failure.bytes);
    return;
  }
  ++failed_.lost;
  WR_CHECK(failed_.lost <= tracker_.records_in_flight(), "a lost record was in flight");
  const auto position = tracker_.PositionOf(failure.token);
  if (!position) {
    failed_.unknown_position = true;
    return;
  }
  failed_.first_lost = std::min(failed_.first_lost.value_or(*position), *position);
  // A purged record was never judged by a broker, so it cannot be the cause.
  if (!failure.purged) {
    failed_.first_refused = std::min(failed_.first_refused.value_or(*position), *position);
  }
}

}  // namespace walrelay
