#include "outbox/table_health.h"

#include <fmt/format.h>

#include "base/text.h"

namespace walrelay {
namespace {

// Below these, waste costs nothing that matters.
constexpr uint64_t kFewDeadRows = 10'000;
constexpr uint64_t kSmallHeap = uint64_t{128} << 20;
// Autovacuum has had time to run.
constexpr Micros kRecently = std::chrono::minutes(10);

std::string VacuumWords(const TableReading& table) {
  return table.size.vacuumed ? fmt::format("the last vacuum was {} ago",
                                           FormatDuration(table.taken - *table.size.vacuumed))
                             : std::string("no vacuum is known");
}

}  // namespace

std::optional<uint64_t> WastedBytes(const TableReading& table) {
  const TableSize& size = table.size;
  if (!table.rows || !size.row_bytes || size.partitions > 0) {
    return std::nullopt;
  }
  const uint64_t used = table.rows->rows * *size.row_bytes;
  return size.heap_bytes > used ? size.heap_bytes - used : 0;
}

std::optional<TableProblem> DeadRowsProblem(const TableReading& table) {
  const TableSize& size = table.size;
  const uint64_t live = table.rows ? table.rows->rows : 0;
  const bool recently = size.vacuumed && table.taken - *size.vacuumed < kRecently;
  if (size.dead_rows < kFewDeadRows || size.dead_rows <= live || recently) {
    return std::nullopt;
  }
  return TableProblem{
      .text = fmt::format("table {}.{} has {} dead rows; {}", table.schema, table.name,
                          size.dead_rows, VacuumWords(table)),
      .remedy = fmt::format(
          "VACUUM (VERBOSE, ANALYZE) {0};  -- if it reports rows that are \"dead but not yet "
          "removable\", an old transaction holds them: end it. So that autovacuum keeps up: ALTER "
          "TABLE {0} SET (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = {1});",
          table.sql_name, kFewDeadRows)};
}

std::optional<TableProblem> BloatProblem(const TableReading& table) {
  const uint64_t heap = table.size.heap_bytes;
  const std::optional<uint64_t> wasted = WastedBytes(table);
  if (heap < kSmallHeap || !wasted || *wasted < heap / 4 * 3) {
    return std::nullopt;
  }
  return TableProblem{
      .text = fmt::format("about {} of the {} of table {}.{} hold no row", HumanBytes(*wasted),
                          HumanBytes(heap), table.schema, table.name),
      .remedy = fmt::format("VACUUM (FULL, ANALYZE) {};  -- the application's inserts wait until "
                            "it has rewritten the table: run it at a quiet time",
                            table.sql_name)};
}

std::vector<TableProblem> ProblemsOf(const TableReading& table) {
  std::vector<TableProblem> problems;
  for (auto& problem : {DeadRowsProblem(table), BloatProblem(table)}) {
    if (problem) {
      problems.push_back(*problem);
    }
  }
  return problems;
}

}  // namespace walrelay
