// RowStep: publishes one row of an outbox table, or applies on_error if it cannot be published.
//
// It is the one answer to "what happens to this row": the relay, `republish`, `recover` and the
// retry of dead letters use it. It routes the row and offers its record; a row that the policy
// gives up is skipped, or its dead letter is offered in its place, and it has a line in an audit.
// The caller keeps the order of rows, and what was produced.
//
// It holds no row: a RowState belongs to the caller. Single-threaded; does no I/O itself.
#pragma once

#include <functional>
#include <optional>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "encode/dead_letter.h"
#include "metrics/metrics.h"
#include "pgoutput/message.h"
#include "pgoutput/relation_cache.h"
#include "route/router.h"
#include "walrelay/clock.h"
#include "walrelay/config/on_error.h"
#include "walrelay/record.h"
#include "walrelay/wait.h"

namespace walrelay {

struct Config;

// A row that is offered, as views that are valid during the call. The relation describes its table,
// which is an outbox table of the router.
struct OfferedRow {
  const pgoutput::CachedRelation& relation;
  pgoutput::Tuple values;
  std::optional<WallTime> commit_time;  // for the record; nullopt: not known
  DeadLetterPosition position;
};

// A row between its first offer and its end. The reason why it is given up is kept, so that brokers
// are not offered a refused record again while the row waits for room in the audit, or for its dead
// letter.
struct RowState {
  absl::Status refusal;  // OK: the row is to be published
  bool audited = false;
};

// A row that is not published as an event. `policy` is kSkip or kDeadLetter.
struct GivenUpRow {
  const OfferedRow& row;
  const absl::Status& reason;
  OnError policy;
};

// Nothing is skipped silently: receives each row that is given up, once.
class RowAudit {
 public:
  virtual ~RowAudit() = default;

  // False: no row is given up now, and the row waits (Wait::kLog).
  virtual bool HasRoom() = 0;
  // The row was skipped, or its dead letter was accepted.
  virtual void OnGivenUp(const GivenUpRow& given_up) = 0;
};

class RowStep {
 public:
  // Decides about a row with an error that concerns the row.
  using Policy = std::function<OnError(const absl::Status& reason)>;
  // Offers a record to a sink, as Sink::Produce() does.
  using Send = absl::FunctionRef<absl::StatusOr<Offered>(const Record& record)>;

  // The references must outlive it. It counts the rows that are given up.
  RowStep(const Config& config, Router& router, Policy policy, RowAudit& audit, Metrics& metrics)
      : config_(config),
        router_(router),
        policy_(std::move(policy)),
        audit_(audit),
        metrics_(metrics) {}

  // One attempt. Call it again with the same row and state until the result is kNone: then the
  // record or the dead letter was accepted, or the row is skipped. Errors: that of the row if the
  // policy is to stop, and those of `send`; the row may be offered again after an error.
  absl::StatusOr<Wait> Offer(const OfferedRow& row, RowState& state, Send send);
  // The same for a row that cannot be published, for a reason that was found elsewhere.
  absl::StatusOr<Wait> GiveUp(const OfferedRow& row, RowState& state, const absl::Status& reason,
                              Send send);

 private:
  absl::StatusOr<Wait> OfferLetter(const OfferedRow& row, const RowState& state, Send send);

  const Config& config_;
  Router& router_;
  const Policy policy_;
  RowAudit& audit_;
  Metrics& metrics_;
};

}  // namespace walrelay
