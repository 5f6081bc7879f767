// ErrorHistory: the most recent errors, one entry per error code.
//
// Bounded; not thread-safe.
//
// The same error usually repeats for as long as an outage lasts: one entry with a count says more
// than the last eight lines of a log.
#pragma once

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "walrelay/clock.h"

namespace walrelay {

// An error code, with its latest message.
struct PastError {
  absl::Status error;  // latest occurrence
  WallTime first;
  WallTime last;
  uint64_t times = 1;
};

class ErrorHistory {
 public:
  // REQUIRES: !error.ok().
  // An error with the code of an earlier one replaces its message and time, and counts up; it then
  // is the latest.
  void Add(const absl::Status& error, WallTime now);

  // Latest first.
  // References are valid until the next Add().
  const std::vector<PastError>& errors() const { return errors_; }

 private:
  // At most eight; the one that occurred least recently is dropped.
  std::vector<PastError> errors_;
};

}  // namespace walrelay
