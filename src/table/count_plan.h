// CountPlan: how much of an outbox table is read to count its rows, so that counting is never a
// burden on Postgres.
//
// A small table is read as a whole. Of a large one, the pages at its end are read, and only while
// rows are unpublished: that is where new rows are, unless vacuum has freed space before them.
//
// Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "table/row_classes.h"
#include "walrelay/replication_source.h"
#include "walrelay/table_reading.h"

namespace walrelay {

// A table whose heap is at most this large is read as a whole; of a larger one, this much.
constexpr uint64_t kMostReadBytes = uint64_t{64} << 20;

enum class CountScope : uint8_t {
  kNothing,  // the figures follow from the statistics
  kEnd,      // only the last pages
  kAll,
};

// `server_version`: server_version_num. Older ones than 14 cannot read a range of pages alone. A
// partitioned table has an end in each partition: it is not searched for.
CountScope ScopeOf(const TableSize& size, const RowClasses& classes, int server_version);

// The column that says when a row was written: the first one of type timestamptz that cannot be
// NULL. "" if there is none. A column without a time zone, or that may be NULL, may be anything.
std::string TimeColumnOf(const TableInfo& table);

}  // namespace walrelay
