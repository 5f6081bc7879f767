#include "publish/single_step.h"

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace walrelay {

// Ranges are merged into one, at the price of sending some records between them alone: refusals are
// rare, and a list of ranges would need a bound.
void SingleStep::Cover(Position from, Position until) {
  WR_CHECK(from <= until, "a range of positions is in stream order");
  WR_CHECK(from.index > 0 && until.index > 0, "a row has a position");
  range_ = range_ ? Range{std::min(range_->from, from), std::max(range_->until, until)}
                  : Range{from, until};
  WR_CHECK(range_->from <= range_->until, "a range of positions is in stream order");
}

bool SingleStep::Covers(Position position) const {
  WR_CHECK(position.index > 0, "a row has a position");
  return range_ && range_->from <= position && position <= range_->until;
}

// The comparison is with the commit position, which is below the end of its transaction: the
// frontier passes it only when all of the transaction's rows are acknowledged. A keepalive of a
// faulty server can move the frontier past a record in flight, whose attempt must still end here.
void SingleStep::OnFrontier(Lsn frontier) {
  if (range_ && attempt_ == Attempt::kNone && range_->until.commit_lsn < frontier) {
    range_.reset();
  }
}

void SingleStep::Clear() {
  range_.reset();
  EndAttempt();
}

void SingleStep::OnOffered(DeliveryToken token) {
  WR_CHECK(attempt_ == Attempt::kNone, "one record is in flight at a time");
  WR_CHECK(error_.ok(), "the policy of a refused row is applied before the next record");
  WR_CHECK(!token.is_progress(), "the record is of a row");
  attempt_ = Attempt::kInFlight;
  token_ = token;
}

// Any other token belongs to a record that was not sent alone.
bool SingleStep::OnDelivered(DeliveryToken token) {
  if (attempt_ != Attempt::kInFlight || token != token_) {
    return false;
  }
  WR_CHECK(error_.ok(), "a record is delivered or refused, never both");
  attempt_ = Attempt::kDelivered;
  return true;
}

bool SingleStep::OnRefused(DeliveryToken token, const absl::Status& error) {
  WR_CHECK(!error.ok(), "a refusal has a cause");
  if (attempt_ != Attempt::kInFlight || token != token_) {
    return false;
  }
  WR_CHECK(error_.ok(), "a record is refused once");
  attempt_ = Attempt::kRefused;
  error_ = error;
  return true;
}

absl::Status SingleStep::TakeError() {
  WR_CHECK(attempt_ == Attempt::kRefused && !error_.ok(), "a record was refused, with a cause");
  attempt_ = Attempt::kNone;
  return std::exchange(error_, absl::OkStatus());
}

// The range stays: the record is offered alone again in the next session.
void SingleStep::EndAttempt() {
  attempt_ = Attempt::kNone;
  error_ = absl::OkStatus();
}

}  // namespace walrelay
