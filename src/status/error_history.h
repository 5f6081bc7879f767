// ErrorHistory: the most recent errors, one entry per error code.
//
// Bounded; not thread-safe.
#pragma once

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "walrelay/clock.h"

namespace walrelay {

struct PastError {
  absl::Status error;  // latest occurrence
  WallTime first;
  WallTime last;
  uint64_t times = 1;
};

class ErrorHistory {
 public:
  // REQUIRES: !error.ok().
  void Add(const absl::Status& error, WallTime now);

  // Latest first.
  const std::vector<PastError>& errors() const { return errors_; }

 private:
  std::vector<PastError> errors_;
};

}  // namespace walrelay
