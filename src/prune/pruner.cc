#include "prune/pruner.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/log.h"
#include "postgres/outbox_tables.h"
#include "walrelay/config/prune.h"
#include "walrelay/config/source.h"
#include "walrelay/error.h"

namespace walrelay {
namespace {

constexpr std::chrono::seconds kRangeTimeout{15};
// A deletion that a crash loses is repeated by the next pass: its commit waits neither for the disk
// nor for a standby, and adds no flush of the WAL to those of the writers.
constexpr std::string_view kPruneSettings =
    "SET statement_timeout = '10s'; SET lock_timeout = '100ms'; SET synchronous_commit = off";
// A page has at most this many rows, if pages are of 8 kB.
constexpr int64_t kRowsPerPage = 291;
// The most pages of a statement: what it reads is bounded, too. Before version 14 a statement names
// every row.
constexpr uint32_t kMostPages = 1024;
constexpr uint32_t kMostPagesWithoutRanges = 16;

bool IsTimestamp(std::string_view type) {
  return type == "timestamptz" || type == "timestamp";
}

// A row that another session has locked, or changes at the same time.
bool IsLocked(const std::string& sqlstate) {
  return sqlstate == "55P03" || sqlstate == "40001" || sqlstate == "40P01";
}

// The result of a statement; an error is a locked row. Returns the rows that it pruned.
uint64_t CountPruned(const absl::StatusOr<PgResult>& row, PruneCount& count) {
  if (!row.ok()) {
    ++count.locked;
    return 0;
  }
  const auto pruned = static_cast<uint64_t>(row->Int(0, "pruned"));
  count.pruned += pruned;
  count.kept += static_cast<uint64_t>(row->Int(0, "kept"));
  if (const auto oldest = row->Seconds(0, "oldest_kept")) {
    count.oldest_kept = std::max(count.oldest_kept.value_or(Micros(0)), *oldest);
  }
  return pruned;
}

// Rows that the stream does not contain are in no topic, whatever their xmin.
std::vector<uint32_t> SentLeaves(const TableInfo& table) {
  std::vector<uint32_t> oids;
  for (const TableLeaf& leaf : table.leaves) {
    if (leaf.stream == LeafStream::kSent && leaf.sent_as == table.oid) {
      oids.push_back(leaf.oid);
    }
  }
  return oids;
}

absl::Status CheckTable(const PruneConfig& config, const PgResult& rows, int row) {
  const std::string name = fmt::format("{}.{}", rows.Text(row, "schema"), rows.Text(row, "name"));
  const std::string_view mark = rows.Text(row, "mark_type");
  if (!IsTimestamp(rows.Text(row, "time_type"))) {
    return Error(
        ErrorCode::kPruneColumn,
        fmt::format("{}: column {}: expected timestamptz or timestamp, got {}", name,
                    config.time_column, rows.Get(row, "time_type").value_or("no such column")));
  }
  if (config.mode == PruneMode::kMark && !IsTimestamp(mark) && mark != "bool") {
    return Error(ErrorCode::kPruneColumn,
                 fmt::format("{}: column {}: expected a timestamp or a boolean, got {}", name,
                             config.mark_column, mark.empty() ? "no such column" : mark));
  }
  return rows.Bool(row, "granted") ? absl::OkStatus() : Error(ErrorCode::kPruneDenied, name);
}

}  // namespace

absl::StatusOr<std::vector<PruneTable>> Pruner::FindTables() {
  std::vector<PruneTable> tables;
  WR_ASSIGN_OR_RETURN(
      const std::vector<TableInfo> outboxes,
      ReadTableInfo(connection_, source_.publication, source_.tables, kRangeTimeout));
  for (const TableInfo& table : outboxes) {
    if (table.name.empty()) {
      continue;
    }
    if (table.oid == 0) {
      return Error(ErrorCode::kTableMissing, fmt::format("{}.{}", table.schema, table.name));
    }
    WR_ASSIGN_OR_RETURN(
        const PgResult rows,
        connection_.Query(PruneTablesQuery(prune_, SentLeaves(table)), kRangeTimeout));
    for (int row = 0; row < rows.rows(); ++row) {
      WR_RETURN_IF_ERROR(CheckTable(prune_, rows, row));
      tables.push_back({.schema = std::string(rows.Text(row, "schema")),
                        .name = std::string(rows.Text(row, "name")),
                        .pages = static_cast<uint32_t>(rows.Int(row, "pages")),
                        .time_has_zone = rows.Text(row, "time_type") == "timestamptz",
                        .mark_is_boolean = rows.Text(row, "mark_type") == "bool"});
    }
  }
  return tables;
}

absl::StatusOr<bool> Pruner::Run(const PruneProof& proof, PruneCount& count) {
  WR_RETURN_IF_ERROR(connection_.Query(std::string(kPruneSettings), kRangeTimeout).status());
  WR_ASSIGN_OR_RETURN(const std::vector<PruneTable> tables, FindTables());
  for (const PruneTable& table : tables) {
    WR_ASSIGN_OR_RETURN(const bool complete, PruneTableRows(table, proof, count));
    if (!complete) {
      return false;
    }
  }
  return true;
}

// Full pages are few in a table that is pruned, so the range grows until a batch is as large as
// configured. A range with a locked row is left to the next pass.
absl::StatusOr<bool> Pruner::PruneTableRows(const PruneTable& table, const PruneProof& proof,
                                            PruneCount& count) {
  const int version = connection_.server_version_num();
  const uint32_t most = ScansRanges(version) ? kMostPages : kMostPagesWithoutRanges;
  const auto least =
      static_cast<uint32_t>(std::clamp<int64_t>(prune_.batch_rows / kRowsPerPage, 1, most));
  uint32_t length = least;
  for (uint32_t page = 0; page < table.pages;) {
    const PageRange range{page, std::min(table.pages, page + length)};
    const auto row =
        connection_.Query(PruneQuery(prune_, table, proof, action_, range, version), kRangeTimeout);
    if (!row.ok() && !IsLocked(connection_.last_sqlstate())) {
      return row.status();
    }
    if (row.ok() && !row->Bool(0, "same_server")) {
      return false;
    }
    const uint64_t pruned = CountPruned(row, count);
    const uint64_t cost = std::max<uint64_t>(pruned, range.end - range.begin);
    if (!pace_(pruned, Micros(1'000'000) * cost / prune_.max_rows_per_second)) {
      return false;
    }
    page = range.end;
    const bool small = pruned < static_cast<uint64_t>(prune_.batch_rows) / 2;
    length = small ? std::min(2 * length, most) : std::max(least, length / 2);
  }
  return true;
}

}  // namespace walrelay
