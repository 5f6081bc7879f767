#include "outbox/table_words.h"

#include <fmt/format.h>

#include "base/text.h"
#include "outbox/count_plan.h"
#include "outbox/table_health.h"
#include "walrelay/error.h"

namespace walrelay {
namespace {

std::string Rows(uint64_t rows) {
  return fmt::format("{} row{}", rows, rows == 1 ? "" : "s");
}

std::string UnknownReason(const TableReading& table) {
  switch (table.unread) {
    case RowsUnread::kNoSelect:
      return "the role may not read the table";
    case RowsUnread::kPolicy:
      return "row-level security would hide rows";
    case RowsUnread::kFailed:
      return fmt::format("the count failed: {}", MessageOf(table.failure));
    case RowsUnread::kNone:
      break;
  }
  return table.size.heap_bytes > kMostReadBytes ? "the table is too large to be read"
                                                : "nothing proves what is published";
}

std::string UnpublishedWords(const TableReading& table) {
  if (!table.unpublished) {
    return fmt::format("how many are not published is unknown: {}", UnknownReason(table));
  }
  const auto& [rows, bound] = *table.unpublished;
  if (rows == 0) {
    return "none waits to be published";
  }
  std::string words = fmt::format("{}{} not published",
                                  bound == RowBound::kAtMost     ? "at most "
                                  : bound == RowBound::kAtLeast  ? "at least "
                                  : bound == RowBound::kEstimate ? "about "
                                                                 : "",
                                  rows);
  if (table.counts_origins) {
    words += ", rows of other origins among them";
  }
  if (table.oldest_unpublished) {
    words += fmt::format(", the oldest for {}", FormatDuration(*table.oldest_unpublished));
  }
  return words;
}

}  // namespace

std::string RowsWords(const TableReading& table) {
  std::string words = fmt::format("{}.{}: ", table.schema, table.name);
  if (table.rows) {
    words += fmt::format("{}{}, ", table.rows->bound == RowBound::kEstimate ? "about " : "",
                         Rows(table.rows->rows));
  }
  words += UnpublishedWords(table);
  if (table.unproven && table.unproven->rows > 0) {
    words += fmt::format("; {} from before the slot or an accepted gap, not known to be published",
                         Rows(table.unproven->rows));
  }
  if (table.unsent && table.unsent->rows > 0) {
    words += fmt::format("; {}{} in parts of the table that are not in the stream, never published",
                         table.unsent->bound == RowBound::kAtLeast ? "at least " : "",
                         Rows(table.unsent->rows));
  }
  return words;
}

std::string SizeWords(const TableReading& table) {
  const TableSize& size = table.size;
  std::string words = fmt::format("{} with indexes", HumanBytes(size.total_bytes));
  if (size.partitions > 0) {
    words += fmt::format(" in {} partition{}", size.partitions, size.partitions == 1 ? "" : "s");
  }
  if (const auto wasted = WastedBytes(table)) {
    words += fmt::format(", about {} hold no row", HumanBytes(*wasted));
  }
  words += fmt::format(", {} dead row{}", size.dead_rows, size.dead_rows == 1 ? "" : "s");
  return words + (size.vacuumed ? fmt::format(", last vacuum {} ago",
                                              FormatDuration(table.taken - *size.vacuumed))
                                : std::string(", no vacuum is known"));
}

}  // namespace walrelay
