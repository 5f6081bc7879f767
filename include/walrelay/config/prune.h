// [prune]: pruning of published rows.
// Filled and validated by src/config; docs/configuration.md describes each key.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "walrelay/clock.h"
#include "walrelay/partition_period.h"

namespace walrelay {

// How walrelay prunes rows of the outbox tables that are proven to be published. kMark: it sets a
// column of the row instead of deleting the row. kDrop: it drops partitions, and creates new ones
// ahead.
enum class PruneMode : uint8_t { kOff, kDelete, kMark, kDrop };

// Pruning of the outbox tables. Requires a record of progress.
struct PruneConfig {
  PruneMode mode = PruneMode::kOff;
  Micros keep = std::chrono::hours(168);  // the age of a row, by its time_column
  Micros interval = std::chrono::minutes(1);
  int64_t batch_rows = 1'000;
  int64_t max_rows_per_second = 10'000;
  std::string time_column = "created_at";
  std::string mark_column;                               // of kMark: a timestamp, or a boolean
  PartitionPeriod partitions = PartitionPeriod::kDaily;  // of kDrop: of those that are created
  int64_t partitions_ahead = 7;                          // of kDrop, after the present one
  std::string dsn;            // "": source.dsn, with the password of [source]
  std::string password_file;  // of `dsn`; read again at each connection

  bool operator==(const PruneConfig&) const = default;
};

}  // namespace walrelay
