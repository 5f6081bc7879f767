#include "table/count_plan.h"

#include <algorithm>

namespace walrelay {
namespace {

// "TID Range Scan".
constexpr int kReadsPageRanges = 140000;

}  // namespace

CountScope ScopeOf(const TableSize& size, const RowClasses& classes, int server_version) {
  if (size.heap_bytes <= kMostReadBytes) {
    return CountScope::kAll;
  }
  const bool behind = !classes.all_published && classes.unpublished_from;
  return behind && size.partitions == 0 && server_version >= kReadsPageRanges
             ? CountScope::kEnd
             : CountScope::kNothing;
}

std::string TimeColumnOf(const TableInfo& table) {
  const auto column = std::find_if(
      table.columns.begin(), table.columns.end(),
      [](const ColumnInfo& each) { return each.not_null && each.type_name == "timestamptz"; });
  return column == table.columns.end() ? "" : column->name;
}

}  // namespace walrelay
