#include "outbox/count_plan.h"

#include <algorithm>

namespace walrelay {
namespace {

// "TID Range Scan".
constexpr int kReadsPageRanges = 140000;

bool IsReadAlone(const TablePart& part) {
  return !part.condition.empty();
}

// Whole partitions, and of the last one its end. Parts without a condition are not read.
std::vector<PartPages> NewestPartitions(const std::vector<TablePart>& parts, uint64_t pages,
                                        bool reads_ranges) {
  std::vector<PartPages> ranges;
  for (const TablePart& part : parts) {
    const bool fits = part.pages <= pages;
    if (pages == 0 || ranges.size() == kMostReadPartitions) {
      break;
    }
    if (part.pages == 0 || !IsReadAlone(part) || !(fits || reads_ranges)) {
      continue;
    }
    ranges.push_back({.condition = part.condition, .first_page = fits ? 0 : part.pages - pages});
    pages -= std::min(pages, part.pages);
  }
  return ranges;
}

// One condition on the pages holds for all parts: the first page such that they have at most this
// many pages from there on.
uint64_t CommonFirstPage(const std::vector<TablePart>& parts, uint64_t pages) {
  const auto read_from = [&](uint64_t first) {
    uint64_t sum = 0;
    for (const TablePart& part : parts) {
      sum += part.pages > first ? part.pages - first : 0;
    }
    return sum;
  };
  uint64_t low = 0;
  uint64_t high = 0;
  for (const TablePart& part : parts) {
    high = std::max(high, part.pages);
  }
  while (low < high) {
    const uint64_t middle = low + (high - low) / 2;
    if (read_from(middle) <= pages) {
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  return low;
}

}  // namespace

bool NeedsPart(const TableSize& size, const RowClasses& classes) {
  const bool behind = !classes.all_published && classes.unpublished_from;
  return behind && size.heap_bytes > kMostReadBytes;
}

CountPlan PlanWhole(const TableSize& size) {
  return size.heap_bytes <= kMostReadBytes ? CountPlan{.ranges = {PartPages()}, .whole = true}
                                           : CountPlan();
}

CountPlan PlanPart(const std::vector<TablePart>& parts, uint64_t page_bytes, int server_version) {
  const uint64_t pages = kMostReadBytes / page_bytes;
  const bool reads_ranges = server_version >= kReadsPageRanges;
  if (std::any_of(parts.begin(), parts.end(), IsReadAlone)) {
    return {.ranges = NewestPartitions(parts, pages, reads_ranges)};
  }
  return reads_ranges ? CountPlan{.ranges = {{.first_page = CommonFirstPage(parts, pages)}}}
                      : CountPlan();
}

std::string TimeColumnOf(const TableInfo& table) {
  const auto column = std::find_if(
      table.columns.begin(), table.columns.end(),
      [](const ColumnInfo& each) { return each.not_null && each.type_name == "timestamptz"; });
  return column == table.columns.end() ? "" : column->name;
}

}  // namespace walrelay
