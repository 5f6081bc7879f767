// CountPlan: how much of an outbox table is read to count its rows, so that counting is never a
// burden on Postgres.
//
// A small table is read as a whole. Only a part of a large table is read, and only while rows are
// unpublished: the part that has the new rows, unless vacuum has freed space elsewhere. That part
// is the end of a table; in a table that is partitioned by range, it is the newest partitions.
//
// Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "outbox/row_classes.h"
#include "outbox/table_reading.h"
#include "walrelay/replication_source.h"

namespace walrelay {

// A table whose heap is at most this large is read as a whole; this much is read of a larger one.
constexpr uint64_t kMostReadBytes = uint64_t{64} << 20;
// Each partition that is read on its own makes the statement longer.
constexpr size_t kMostReadPartitions = 32;

// A table without partitions, or one leaf of a partitioned table.
struct TablePart {
  uint64_t pages = 0;
  // An SQL condition that selects this partition's rows of the table, and by which the planner
  // excludes all other partitions; "": none. The privilege on the table does not allow to read a
  // partition by its own name.
  std::string condition;
};

// Pages of a table: from `first_page` on, of each part that `condition` does not exclude.
struct PartPages {
  std::string condition;  // "": of the whole table
  uint64_t first_page = 0;

  friend bool operator==(const PartPages&, const PartPages&) = default;
};

struct CountPlan {
  std::vector<PartPages> ranges;  // empty: the figures follow from the statistics
  bool whole = false;             // the ranges contain every row

  friend bool operator==(const CountPlan&, const CountPlan&) = default;
};

// Whether the table is too large to be read as a whole, and a part of it has to be read:
// PlanPart() chooses it.
bool NeedsPart(const TableSize& size, const RowClasses& classes);

// The whole table, or nothing. REQUIRES: !NeedsPart().
CountPlan PlanWhole(const TableSize& size);

// `parts`: the newest one first. `server_version`: server_version_num. Older ones than 14 cannot
// read a range of pages alone, but whole partitions.
CountPlan PlanPart(const std::vector<TablePart>& parts, uint64_t page_bytes, int server_version);

// The column that says when a row was written: the first one of type timestamptz that cannot be
// NULL. "" if there is none. A column without a time zone, or that may be NULL, may be anything.
std::string TimeColumnOf(const TableInfo& table);

}  // namespace walrelay
