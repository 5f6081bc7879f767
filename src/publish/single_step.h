// SingleStep: offers records one at a time after brokers refused some of them.
//
// A broker refuses a batch without naming the record that caused it, and the idempotent sink
// fails as a whole: everything between the frontier and the refusal is read and sent again. If the
// records were sent in batches again, each attempt would append the other records once more,
// without end. Therefore, from the first refused record up to the last one offered, each record
// waits until nothing is in flight, is sent alone, and is awaited. A refusal then identifies its
// record and repeats nothing: only the sink is replaced, and the stream continues.
//
// SingleStep holds the range, which outlives sessions, and the one record in flight. Pure;
// single-threaded.
#pragma once

#include <optional>

#include "absl/status/status.h"
#include "walrelay/position.h"
#include "walrelay/sink.h"

namespace walrelay {

class SingleStep {
 public:
  enum class Attempt {
    // No record is in flight alone: the next row may be offered.
    kNone,
    // The record was handed to the sink, and no report has arrived.
    kInFlight,
    // Acknowledged: its row is handled when it is offered again.
    kDelivered,
    // Refused: the row's policy applies when it is offered again.
    kRefused,
  };

  // Adds the records from `from` to `until`, both included, to the range. REQUIRES: from <= until.
  void Cover(Position from, Position until);
  bool Covers(Position position) const;

  // Everything before `frontier` is acknowledged: a range that ends before it is discarded, unless
  // a record of it is in flight.
  void OnFrontier(Lsn frontier);

  // The range is no longer valid: the stream begins on another timeline.
  void Clear();

  // The record of the current row was handed to the sink. REQUIRES: attempt() is kNone.
  void OnOffered(DeliveryToken token);

  // Processes a delivery report. True when it concerns the record in flight.
  bool OnDelivered(DeliveryToken token);
  bool OnRefused(DeliveryToken token, const absl::Status& error);

  Attempt attempt() const { return attempt_; }

  // Returns the error of the refused record, and prepares the next attempt. REQUIRES: attempt() is
  // kRefused.
  absl::Status TakeError();

  // Discards the current attempt: its record was delivered, or its session has ended.
  void EndAttempt();

 private:
  struct Range {
    Position from;
    Position until;
  };

  std::optional<Range> range_;
  Attempt attempt_ = Attempt::kNone;
  DeliveryToken token_;  // of the record in flight
  absl::Status error_;   // why it was refused
};

}  // namespace walrelay
