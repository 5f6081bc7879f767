// TableHealth: whether an outbox table wastes space, and the command to run.
//
// An outbox whose rows are deleted or updated leaves dead rows behind. If vacuum does not keep up,
// every query of the table gets slower, and the space is never used again.
//
// Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "outbox/table_reading.h"

namespace walrelay {

// A finding about a table: what is wrong, and the statement that fixes it.
struct TableProblem {
  std::string text;
  std::string remedy;

  friend bool operator==(const TableProblem&, const TableProblem&) = default;
};

// The bytes of the heap that hold no row: an estimate from the number of rows and their average
// size. Absent if one of them is not known, and for a partitioned table.
std::optional<uint64_t> WastedBytes(const TableReading& table);

// More dead rows than vacuum is expected to leave; nullopt: no problem.
std::optional<TableProblem> DeadRowsProblem(const TableReading& table);

// Most of a large heap is empty; nullopt: no problem.
std::optional<TableProblem> BloatProblem(const TableReading& table);

// Both, as far as there are any.
std::vector<TableProblem> ProblemsOf(const TableReading& table);

}  // namespace walrelay
