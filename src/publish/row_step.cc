#include "publish/row_step.h"

#include "base/check.h"
#include "publish/dead_letter_record.h"
#include "walrelay/config/on_error.h"
#include "walrelay/error.h"

namespace walrelay {

absl::StatusOr<Wait> RowStep::Offer(const OfferedRow& row, RowState& state, Send send) {
  if (!state.refusal.ok()) {
    return GiveUp(row, state, state.refusal, send);
  }
  const auto record = router_.Route(row.relation.oid, row.values, row.commit_time);
  const absl::StatusOr<Offered> offered =
      record.ok() ? send(*record) : absl::StatusOr<Offered>(record.status());
  if (offered.ok()) {
    return offered->wait();
  }
  return ScopeOf(offered.status()) == Scope::kRow ? GiveUp(row, state, offered.status(), send)
                                                  : offered.status();
}

// A row that stops publishing is not remembered: it is routed again at each attempt, so that a
// fixed privilege or topic takes effect without a restart.
absl::StatusOr<Wait> RowStep::GiveUp(const OfferedRow& row, RowState& state,
                                     const absl::Status& reason, Send send) {
  WR_CHECK(!reason.ok(), "a row that cannot be published has a reason");
  const OnError policy = policy_(reason);
  if (policy == OnError::kStop) {
    const absl::Status error = reason;  // may be that of the state
    state = {};
    return error;
  }
  state.refusal = reason;
  // The audit is the only trace of a skipped row. (A log that blocked instead would stop the status
  // updates as well.)
  if (!audit_.HasRoom()) {
    return Wait::kLog;
  }
  const absl::StatusOr<Wait> wait =
      policy == OnError::kDeadLetter ? OfferLetter(row, state, send) : Wait::kNone;
  if (wait.ok() && *wait == Wait::kNone && !std::exchange(state.audited, true)) {
    const std::string code = ToString(CodeOf(state.refusal));
    metrics_.route_errors[code].Increment();
    (policy == OnError::kSkip ? metrics_.events_skipped : metrics_.dead_letters)[code].Increment();
    audit_.OnGivenUp({.row = row, .reason = state.refusal, .policy = policy});
  }
  return wait;
}

// The dead letter takes the row's place in the order of records.
absl::StatusOr<Wait> RowStep::OfferLetter(const OfferedRow& row, const RowState& state, Send send) {
  const DeadLetterRecord letter(config_, router_, state.refusal, row.relation, row.values,
                                row.position);
  const absl::StatusOr<Offered> offered = send(letter.record());
  return offered.ok() ? absl::StatusOr<Wait>(offered->wait()) : offered.status();
}

}  // namespace walrelay
