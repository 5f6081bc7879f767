// CountQuery: the statement that counts the rows of an outbox table, or of a part of it.
//
// The statement runs for at most a second, without parallel workers. Works with Postgres 13 to 18.
// Pure: names are quoted by the caller, and a plan's conditions come from the catalog.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "outbox/count_plan.h"
#include "outbox/row_classes.h"
#include "walrelay/replication_source.h"

namespace walrelay {

// Precedes a statement: SET LOCAL lasts until the end of the message, which is one transaction.
constexpr std::string_view kCountLimits =
    "SET LOCAL statement_timeout = '1s'; SET LOCAL lock_timeout = '100ms';"
    " SET LOCAL max_parallel_workers_per_gather = 0; SET LOCAL jit = off; ";

// The leaves of a table, by what the xmin of their rows says.
struct LeafClasses {
  std::vector<uint32_t> own;    // whose rows count as rows of the table
  std::vector<uint32_t> other;  // whose rows are those of another configured table
  std::vector<uint32_t> unsent;
  std::vector<const TableLeaf*> attached;  // since the proof begins: they may have brought rows
};
// `classes`: of a reading of the table's server. The result points into `table`.
LeafClasses ClassesOf(const TableInfo& table, const RowClasses& classes);

struct CountQuery {
  std::string table;        // quoted
  std::string time_column;  // quoted; "": none
  bool commit_times = false;
  RowClasses classes;
  CountPlan plan;
  LeafClasses leaves;
  bool own_rows_only = false;  // the others are only part of `all_rows`

  // One row: all_rows, and as far as they can be known unpublished, unproven and unsent, the age of
  // the oldest unpublished row in seconds, and the time when they were `taken`.
  std::string Sql() const;

 private:
  std::string Time() const;
  std::string Rows() const;
  std::string IsSent() const;
  std::string IsOwn() const;
  std::string IsBrought() const;
  std::string AttachedLeaves() const;
};

}  // namespace walrelay
