#include "postgres/table_reader.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/quote.h"
#include "outbox/count_plan.h"
#include "postgres/count_query.h"
#include "postgres/row_query.h"
#include "walrelay/config/source.h"
#include "walrelay/error.h"

namespace walrelay {
namespace {

// The leaves of a table. {0}: its oid; {3}: those of its leaves.
//
// The planner's estimate of the rows is scaled to the present size, as the planner does; before the
// first ANALYZE it is what the statistics have counted.
constexpr std::string_view kSizeQuery = R"(
WITH leaf AS (
  SELECT c.oid, c.reltuples, c.relpages FROM pg_catalog.pg_class c
  WHERE c.oid OPERATOR(pg_catalog.=) ANY (ARRAY[{3}]::pg_catalog.oid[])),
measured AS (
  SELECT leaf.*, pg_catalog.pg_relation_size(oid) AS bytes,
         pg_catalog.current_setting('block_size')::pg_catalog.int8 AS block
  FROM leaf),
total AS (
  SELECT pg_catalog.count(*) AS leaves,
         pg_catalog.sum(bytes)::pg_catalog.int8 AS heap_bytes,
         pg_catalog.sum(pg_catalog.pg_total_relation_size(oid))::pg_catalog.int8 AS total_bytes,
         pg_catalog.sum(pg_catalog.pg_stat_get_dead_tuples(oid))::pg_catalog.int8 AS dead_rows,
         pg_catalog.sum(CASE WHEN reltuples OPERATOR(pg_catalog.>=) 0::pg_catalog.float4
                              AND relpages OPERATOR(pg_catalog.>) 0
                             THEN reltuples OPERATOR(pg_catalog./) relpages
                                  OPERATOR(pg_catalog.*) bytes OPERATOR(pg_catalog./) block
                             ELSE pg_catalog.pg_stat_get_live_tuples(oid)
                        END)::pg_catalog.int8 AS estimate,
         extract(epoch FROM pg_catalog.max(pg_catalog.pg_stat_get_last_autovacuum_time(oid)))
           AS autovacuumed,
         extract(epoch FROM pg_catalog.max(pg_catalog.pg_stat_get_last_vacuum_time(oid)))
           AS vacuumed,
         pg_catalog.max(block) AS block
  FROM measured)
SELECT total.*, c.relkind OPERATOR(pg_catalog.=) 'p' AS partitioned,
       pg_catalog.has_schema_privilege(c.relnamespace, 'USAGE')
         AND pg_catalog.has_table_privilege(c.oid, 'SELECT') AS may_read,
       pg_catalog.row_security_active(c.oid) AS policy,
       pg_catalog.current_setting('track_commit_timestamp') OPERATOR(pg_catalog.=) 'on'
         AS commit_times,
       (SELECT pg_catalog.sum(s.avg_width) FROM pg_catalog.pg_stats s
        WHERE s.schemaname OPERATOR(pg_catalog.=) {1} AND s.tablename OPERATOR(pg_catalog.=) {2}
          AND NOT s.inherited) AS width,
       extract(epoch FROM pg_catalog.clock_timestamp()) AS taken
FROM pg_catalog.pg_class c, total WHERE c.oid OPERATOR(pg_catalog.=) {0})";

// The leaves that have rows, the newest one first: a partition for later rows is usually created
// later. {0}: the table's oid, {1}: how many conditions are needed.
//
// The planner excludes other partitions by a condition only if the key is the value of a column,
// and the bounds are a range. The condition becomes part of a statement: with a type or an operator
// class of another user, it would call that user's functions.
constexpr std::string_view kPartsQuery = R"(
SELECT leaf.pages, CASE WHEN leaf.alone AND pg_catalog.row_number() OVER (ORDER BY leaf.oid DESC)
                               OPERATOR(pg_catalog.<=) {1}
                        THEN pg_catalog.pg_get_partition_constraintdef(leaf.oid) END AS condition
FROM (SELECT t.relid::pg_catalog.oid AS oid,
             pg_catalog.pg_relation_size(t.relid) OPERATOR(pg_catalog./)
               pg_catalog.current_setting('block_size')::pg_catalog.int8 AS pages,
             p.partstrat OPERATOR(pg_catalog.=) 'r' AND p.partnatts OPERATOR(pg_catalog.=) 1
               AND p.partattrs[0] OPERATOR(pg_catalog.<>) 0 AND t.level OPERATOR(pg_catalog.=) 1
               AND t.relid::pg_catalog.oid OPERATOR(pg_catalog.<>) p.partdefid
               AND EXISTS (
                 SELECT 1 FROM pg_catalog.pg_opclass o
                 JOIN pg_catalog.pg_type k ON k.oid OPERATOR(pg_catalog.=) o.opcintype
                 JOIN pg_catalog.pg_namespace n ON n.oid OPERATOR(pg_catalog.=) o.opcnamespace
                 WHERE o.oid OPERATOR(pg_catalog.=) p.partclass[0]
                   AND n.nspname OPERATOR(pg_catalog.=) 'pg_catalog'
                   AND k.typtype OPERATOR(pg_catalog.=) 'b') AS alone
      FROM pg_catalog.pg_partition_tree({0}) t
      JOIN pg_catalog.pg_partitioned_table p ON p.partrelid OPERATOR(pg_catalog.=) {0}
      WHERE t.isleaf) leaf
WHERE leaf.pages OPERATOR(pg_catalog.>) 0
ORDER BY leaf.oid DESC)";

// The header of a row with its padding, and the line pointer.
// Source: HeapTupleHeaderData and ItemIdData in the sources of Postgres.
constexpr uint64_t kRowOverhead = 24 + 4;
constexpr uint64_t kRowAlignment = 8;

TableSize SizeOf(const PgResult& row) {
  TableSize size{
      .partitions = row.Bool(0, "partitioned") ? static_cast<int>(row.Int(0, "leaves")) : 0,
      .heap_bytes = static_cast<uint64_t>(row.Int(0, "heap_bytes")),
      .total_bytes = static_cast<uint64_t>(row.Int(0, "total_bytes")),
      .dead_rows = static_cast<uint64_t>(row.Int(0, "dead_rows"))};
  // An absent value orders before every other.
  if (const auto vacuumed = std::max(row.Seconds(0, "autovacuumed"), row.Seconds(0, "vacuumed"))) {
    size.vacuumed = WallTime(*vacuumed);
  }
  if (const auto width = static_cast<uint64_t>(row.Int(0, "width")); width > 0) {
    size.row_bytes = (kRowOverhead + width + kRowAlignment - 1) / kRowAlignment * kRowAlignment;
  }
  return size;
}

// Sets the counts that are known without reading a row.
void SetFromStatistics(const PgResult& row, const RowKnowledge& knowledge, TableReading& table) {
  table.rows = {.rows = static_cast<uint64_t>(std::max<int64_t>(row.Int(0, "estimate"), 0)),
                .bound = RowBound::kEstimate};
  if (knowledge.classes.all_published) {
    table.unpublished = RowCount();
    table.as_of = knowledge.as_of;
  }
}

std::optional<RowCount> Counted(const PgResult& row, const char* column, RowBound bound) {
  return row.Get(0, column)
             ? std::optional(
                   RowCount{.rows = static_cast<uint64_t>(row.Int(0, column)), .bound = bound})
             : std::nullopt;
}

// No row at or above the horizon: all are proven to be published, however far the frontier is.
void SetUnpublished(const PgResult& row, bool whole, TableReading& table) {
  const RowBound part = table.counts_origins ? RowBound::kEstimate : RowBound::kAtLeast;
  auto count = Counted(row, "unpublished", whole ? RowBound::kAtMost : part);
  if (!count || (!whole && count->rows == 0)) {
    return;
  }
  if (count->rows == 0) {
    count->bound = RowBound::kExact;
  }
  table.unpublished = count;
  table.as_of = WallTime(row.Seconds(0, "taken").value_or(Micros(0)));
  table.oldest_unpublished = row.Seconds(0, "age");
}

// An error that the server reports in answer leaves the connection open, and is part of the result:
// a statement that was cancelled, a lock, a table that was dropped meanwhile. Returns the other
// errors.
absl::Status NoteFailure(const PgConnection& connection, const absl::Status& error,
                         TableReading& table) {
  const bool answered =
      !connection.last_sqlstate().empty() && !HasCode(error, ErrorCode::kPostgresShuttingDown);
  WR_RETURN_IF_ERROR(answered ? absl::OkStatus() : error);
  table.unread = RowsUnread::kFailed;
  table.failure = error;
  return absl::OkStatus();
}

absl::Status CountRows(PgConnection& connection, const CountQuery& query, Micros timeout,
                       TableReading& table) {
  const auto row = connection.Query(query.Sql(), timeout);
  if (!row.ok()) {
    return NoteFailure(connection, row.status(), table);
  }
  SetUnpublished(*row, query.plan.whole, table);
  if (query.plan.whole) {
    table.rows = Counted(*row, "all_rows", RowBound::kExact);
    table.unproven = Counted(*row, "unproven", RowBound::kExact);
  }
  table.unsent = Counted(*row, "unsent", query.plan.whole ? RowBound::kExact : RowBound::kAtLeast);
  return absl::OkStatus();
}

absl::StatusOr<std::vector<TablePart>> ReadParts(PgConnection& connection, const TableInfo& table,
                                                 const TableSize& size, uint64_t page_bytes,
                                                 Micros timeout) {
  std::vector<TablePart> parts;
  if (size.partitions == 0) {
    parts.push_back({.pages = size.heap_bytes / page_bytes});
    return parts;
  }
  WR_ASSIGN_OR_RETURN(const PgResult rows,
                      connection.Query(std::string(kCountLimits) +
                                           fmt::format(kPartsQuery, table.oid, kMostReadPartitions),
                                       timeout));
  for (int i = 0; i < rows.rows(); ++i) {
    parts.push_back({.pages = static_cast<uint64_t>(rows.Int(i, "pages")),
                     .condition = std::string(rows.Text(i, "condition"))});
  }
  return parts;
}

// nullopt: the table does not exist any more.
absl::StatusOr<std::optional<TableReading>> ReadTable(PgConnection& connection,
                                                      const TableInfo& table,
                                                      const RowKnowledge& knowledge,
                                                      Micros timeout) {
  LeafClasses leaves = ClassesOf(table, knowledge.classes);
  WR_ASSIGN_OR_RETURN(
      const PgResult row,
      connection.Query(fmt::format(kSizeQuery, table.oid, QuoteLiteral(table.schema),
                                   QuoteLiteral(table.name), fmt::join(leaves.own, ", ")),
                       timeout));
  if (row.rows() == 0) {
    return std::nullopt;
  }
  TableReading reading{
      .schema = table.schema,
      .name = table.name,
      .sql_name = fmt::format("{}.{}", QuoteIdentifier(table.schema), QuoteIdentifier(table.name)),
      .taken = WallTime(row.Seconds(0, "taken").value_or(Micros(0))),
      .size = SizeOf(row),
      .unread = !row.Bool(0, "may_read") ? RowsUnread::kNoSelect
                : row.Bool(0, "policy")  ? RowsUnread::kPolicy
                                         : RowsUnread::kNone};
  SetFromStatistics(row, knowledge, reading);
  if (reading.unread != RowsUnread::kNone) {
    return reading;
  }
  CountPlan plan = PlanWhole(reading.size);
  if (NeedsPart(reading.size, knowledge.classes)) {
    const auto page_bytes = static_cast<uint64_t>(row.Int(0, "block"));
    const auto parts = ReadParts(connection, table, reading.size, page_bytes, timeout);
    if (!parts.ok()) {
      WR_RETURN_IF_ERROR(NoteFailure(connection, parts.status(), reading));
      return reading;
    }
    plan = PlanPart(*parts, page_bytes, connection.server_version_num());
  }
  if (plan.ranges.empty()) {
    return reading;
  }
  const std::string time_column = TimeColumnOf(table);
  const bool own_rows = knowledge.origin == OriginFilter::kNone;
  const bool known = ShowsOrigins(connection.server_version_num(), row.Bool(0, "commit_times"));
  const CountQuery query{.table = reading.sql_name,
                         .time_column = time_column.empty() ? "" : QuoteIdentifier(time_column),
                         .commit_times = row.Bool(0, "commit_times"),
                         .classes = knowledge.classes,
                         .plan = std::move(plan),
                         .leaves = std::move(leaves),
                         .own_rows_only = own_rows && known};
  reading.counts_origins = own_rows && !known;
  WR_RETURN_IF_ERROR(CountRows(connection, query, timeout, reading));
  return reading;
}

}  // namespace

absl::StatusOr<std::vector<TableReading>> ReadTables(PgConnection& connection,
                                                     const std::vector<TableInfo>& tables,
                                                     const RowKnowledge& knowledge,
                                                     Micros timeout) {
  std::vector<TableReading> readings;
  for (const TableInfo& table : tables) {
    if (table.oid == 0) {
      continue;  // logical messages, or a table whose absence is reported elsewhere
    }
    WR_ASSIGN_OR_RETURN(auto reading, ReadTable(connection, table, knowledge, timeout));
    if (reading) {
      readings.push_back(*std::move(reading));
    }
  }
  return readings;
}

}  // namespace walrelay
