// Says which errors concern a single row, and what the configuration says about such a row.
//
// Pure.
#pragma once

#include <cstddef>
#include <optional>

#include "absl/status/status.h"
#include "walrelay/clock.h"
#include "walrelay/config.h"
#include "walrelay/error.h"

namespace walrelay {

// Where the cause of an error lies. Only a cause in the row's own content may cost the row its
// place: with any other, the next rows fail as well, and on_error would skip them all.
enum class Cause {
  kRow,
  kTopic,   // its settings, policies, rights
  kTime,    // the clocks, or the topic's limits of times
  kSystem,  // the configuration, the brokers, the session
};
Cause CauseOf(ErrorCode code);
inline bool IsAboutTheRow(ErrorCode code) {
  return CauseOf(code) == Cause::kRow;
}

// The configured policy for rows that fail with `code`. nullopt: the only option is to stop; the
// cause is not kRow.
std::optional<OnError> PolicyFor(ErrorCode code, const ErrorPolicy& policy);

// A record that brokers refused while it was sent alone.
struct RefusedRecord {
  size_t bytes = 0;              // key, value and headers
  std::optional<WallTime> time;  // its own; nullopt: the producer's clock
  WallTime commit_time;          // of its transaction
  WallTime now;                  // when it was refused, by this machine's clock
};

// The row's error when the brokers refused its record. The same refusal means different things.
// "Too large": of a batch, that batches must be smaller; of a single record, that this record never
// fits; of a tiny one, that the topic's limit is wrong. A refused time is the row's own only if it
// comes from a column and its commit time would have been accepted. REQUIRES: !refusal.ok().
absl::Status RowErrorOf(const absl::Status& refusal, const RefusedRecord& record);

}  // namespace walrelay
