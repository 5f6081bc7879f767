// SingleStep: offers records one at a time, each alone, after brokers refused some of them.
//
// A broker refuses a batch without saying which record caused it, and the idempotent producer fails
// as a whole: everything between the frontier and the refusal is read and sent again. If the
// records were offered in batches again, each attempt would append the others once more, without
// end. So from the first refused record up to the last one that was offered, each record now waits
// until nothing is in flight, goes out alone, and is waited for. A refusal then names its record
// and repeats nothing: only the producer is replaced, and the stream goes on where it is.
//
// It holds the range (which outlives sessions) and the one record under way. Pure; one thread.
#pragma once

#include <optional>

#include "absl/status/status.h"
#include "walrelay/position.h"
#include "walrelay/producer.h"

namespace walrelay {

class SingleStep {
 public:
  enum class Attempt {
    kNone,
    kInFlight,
    kDelivered,
    kRefused,
  };

  // Adds the records from `from` to `until`, both included, to the range. REQUIRES: from <= until.
  void Cover(Position from, Position until);
  bool Covers(Position position) const;

  // Everything before `frontier` is acknowledged: a range that ends there is done with.
  void OnFrontier(Lsn frontier);

  // The range means nothing any more: the stream begins on another timeline.
  void Clear();

  // The record of the present row was handed to the producer. REQUIRES: attempt() is kNone.
  void OnOffered(DeliveryToken token);

  // A report came. True when it is about the record under way.
  bool OnDelivered(DeliveryToken token);
  bool OnRefused(DeliveryToken token, const absl::Status& error);

  Attempt attempt() const { return attempt_; }

  // Takes the error of the refused record, and is ready for the next attempt. REQUIRES: attempt()
  // is kRefused.
  absl::Status TakeError();

  // Forgets the record under way: it was delivered, or its session has ended.
  void EndAttempt();

 private:
  struct Range {
    Position from;
    Position until;
  };

  std::optional<Range> range_;
  Attempt attempt_ = Attempt::kNone;
  DeliveryToken token_;  // of the record under way
  absl::Status error_;   // why it was refused
};

}  // namespace walrelay
