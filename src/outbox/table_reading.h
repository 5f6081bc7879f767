// TableReading: what was read from an outbox table: its rows, those that are not published, and how
// much of its size is waste.
//
// Plain data, produced by TableReader (src/postgres) and read by status, metrics and doctor. A
// value that is not known is absent.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "walrelay/clock.h"

namespace walrelay {

// How a number of rows relates to the true number.
enum class RowBound : uint8_t {
  kExact,
  kAtMost,    // some of these rows may be published: nothing proves it yet
  kAtLeast,   // only a part of a large table was read
  kEstimate,  // from the planner's statistics, or neither of the bounds above
};

struct RowCount {
  uint64_t rows = 0;
  RowBound bound = RowBound::kExact;

  friend bool operator==(const RowCount&, const RowCount&) = default;
};

// Why the rows of a table were not counted.
enum class RowsUnread : uint8_t {
  kNone,      // they were
  kNoSelect,  // the role lacks SELECT on the table, or USAGE on its schema
  kPolicy,    // row-level security would hide rows
  kFailed,    // the query failed, or took too long: see TableReading::failure
};

// The size of a table with its partitions, and its dead rows. From the catalog and the statistics
// of the server: no row is read.
struct TableSize {
  int partitions = 0;       // leaves; 0: not partitioned
  uint64_t heap_bytes = 0;  // without indexes and TOAST
  uint64_t total_bytes = 0;
  uint64_t dead_rows = 0;             // not yet vacuumed
  std::optional<WallTime> vacuumed;   // the last time, by autovacuum or a command
  std::optional<uint64_t> row_bytes;  // average in the heap; absent before the first ANALYZE

  friend bool operator==(const TableSize&, const TableSize&) = default;
};

struct TableReading {
  std::string schema;
  std::string name;
  std::string sql_name;  // both, quoted for a statement
  WallTime taken;        // by the server's clock
  TableSize size;
  RowsUnread unread = RowsUnread::kNone;
  absl::Status failure;
  std::optional<RowCount> rows;
  // Committed before `as_of`, and not known to be published.
  std::optional<RowCount> unpublished;
  WallTime as_of;  // by the server's clock; only with `unpublished`
  // The age of the oldest of these rows at `taken`: since its commit if the server tracks commit
  // times, otherwise since the value of its time column. Absent without such a row or column.
  std::optional<Micros> oldest_unpublished;
  // From before the slot, or from before an accepted gap: neither known to be published nor still
  // to come.
  std::optional<RowCount> unproven;
  // In leaves that the stream does not contain: see LeafStream. Not part of the other counts but
  // `rows`.
  std::optional<RowCount> unsent;
  // Rows of other origins are not events, and the table does not show which they are: those that
  // the relay has not read yet count as unpublished, and earlier ones as unproven.
  bool counts_origins = false;
};

}  // namespace walrelay
