// ErrorHistory: the last few things that went wrong, each once, however often it came.
//
// Bounded; not thread-safe.
#pragma once

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "walrelay/clock.h"

namespace walrelay {

struct PastError {
  absl::Status error;  // as it came last
  WallTime first;
  WallTime last;
  uint64_t times = 1;
};

class ErrorHistory {
 public:
  // REQUIRES: !error.ok().
  void Add(const absl::Status& error, WallTime now);

  // The latest first.
  const std::vector<PastError>& errors() const { return errors_; }

 private:
  std::vector<PastError> errors_;
};

}  // namespace walrelay
