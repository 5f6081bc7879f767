// What the errors of a row mean: which of them concern a single row, and what the configuration
// says about such a row.
//
// Pure.
#pragma once

#include <optional>

#include "absl/status/status.h"
#include "walrelay/config.h"
#include "walrelay/error.h"

namespace walrelay {

// Whether the error concerns a single row; every other error concerns the session or Kafka.
bool IsAboutTheRow(ErrorCode code);

// The configured policy for rows that fail with `code`. nullopt: the only option is to stop.
// Errors without a policy concern more than one row: skipping rows would not end them.
std::optional<OnError> PolicyFor(ErrorCode code, const ErrorPolicy& policy);

// The row's error when the brokers refused its record while it was sent alone. The same refusal
// means two things: of a batch, that batches must be smaller; of a single record, that this record
// never fits. REQUIRES: !refusal.ok().
absl::Status RowErrorOf(const absl::Status& refusal);

}  // namespace walrelay
