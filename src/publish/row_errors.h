// Says what the configuration decides about a row with an error, and what a refusal says of a row.
//
// Pure.
#pragma once

#include <cstddef>
#include <optional>

#include "absl/status/status.h"
#include "walrelay/clock.h"
#include "walrelay/config/on_error.h"
#include "walrelay/error.h"

namespace walrelay {

// The configured policy for rows that fail with `error`: of an error that does not concern the row,
// always to stop.
OnError PolicyFor(const absl::Status& error, const ErrorPolicy& policy);

// A record that brokers refused while it was sent alone.
struct RefusedRecord {
  size_t bytes = 0;              // key, value and headers
  std::optional<WallTime> time;  // its own; nullopt: the sink's clock
  WallTime commit_time;          // of its transaction
  WallTime now;                  // when it was refused, by this machine's clock
};

// The row's error when the brokers refused its record. The same refusal means different things.
// "Too large": of a batch, that batches must be smaller; of a single record, that this record never
// fits; of a tiny one, that the topic's limit is wrong. A refused time is the row's own only if it
// comes from a column and its commit time would have been accepted. REQUIRES: !refusal.ok().
absl::Status RowErrorOf(const absl::Status& refusal, const RefusedRecord& record);

}  // namespace walrelay
