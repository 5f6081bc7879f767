#include "postgres/table_reader.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "outbox/count_plan.h"
#include "postgres/quote.h"
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

// SET LOCAL lasts until the end of the message, which is one transaction.
constexpr std::string_view kCountLimits =
    "SET LOCAL statement_timeout = '1s'; SET LOCAL lock_timeout = '100ms';"
    " SET LOCAL max_parallel_workers_per_gather = 0; SET LOCAL jit = off; ";

// The header of a row with its padding, and the line pointer.
// Source: HeapTupleHeaderData and ItemIdData in the sources of Postgres.
constexpr uint64_t kRowOverhead = 24 + 4;
constexpr uint64_t kRowAlignment = 8;

// Whether the row's xmin is at or above the bound. age() compares modulo 2^32, which is exact for
// bounds less than 2^31 transactions old (RowClasses), and "infinitely old" for a permanent xid.
std::string IsAtLeast(uint64_t bound) {
  return fmt::format(
      "(pg_catalog.age(r.xmin) OPERATOR(pg_catalog.>) 0 AND pg_catalog.age(r.xmin)"
      " OPERATOR(pg_catalog.<=) pg_catalog.age('{}'::pg_catalog.xid))",
      static_cast<uint32_t>(bound));
}

std::string ListOf(const std::vector<uint32_t>& oids) {
  return fmt::format("ARRAY[{}]::pg_catalog.oid[]", fmt::join(oids, ", "));
}

// The leaves of a table, by what the xmin of their rows says.
struct LeafClasses {
  std::vector<uint32_t> own;    // whose rows count as rows of the table
  std::vector<uint32_t> other;  // whose rows are those of another configured table
  std::vector<uint32_t> unsent;
  std::vector<const TableLeaf*> attached;  // since the proof begins: they may have brought rows
};

LeafClasses ClassesOf(const TableInfo& table, const RowClasses& classes) {
  LeafClasses out;
  for (const TableLeaf& leaf : table.leaves) {
    const bool sent = leaf.stream == LeafStream::kSent;
    if (sent && leaf.sent_as != table.oid) {
      out.other.push_back(leaf.oid);
      continue;
    }
    out.own.push_back(leaf.oid);
    if (!sent) {
      out.unsent.push_back(leaf.oid);
    } else if (leaf.attached_by != 0 && classes.unproven_before &&
               static_cast<int32_t>(leaf.attached_by -
                                    static_cast<uint32_t>(*classes.unproven_before)) >= 0) {
      out.attached.push_back(&leaf);
    }
  }
  return out;
}

struct CountQuery {
  std::string table;        // quoted
  std::string time_column;  // quoted; "": none
  bool commit_times = false;
  RowClasses classes;
  CountPlan plan;
  LeafClasses leaves;
  bool own_rows_only = false;  // the others are only part of `all_rows`

  // The time of a row: an expression, or "" if its table has none.
  std::string Time() const {
    return commit_times          ? "pg_catalog.pg_xact_commit_timestamp(r.xmin)"
           : time_column.empty() ? ""
                                 : "r." + time_column;
  }

  // The rows of the ranges. A condition names columns without their table, so each has a FROM of
  // its own.
  std::string Rows() const {
    std::string sql;
    for (const PartPages& range : plan.ranges) {
      sql +=
          fmt::format("{}SELECT t.xmin, t.tableoid{} FROM {} t", sql.empty() ? "" : " UNION ALL ",
                      time_column.empty() ? "" : ", t." + time_column, table);
      std::string_view word = " WHERE ";
      if (!leaves.other.empty()) {
        sql += fmt::format("{}t.tableoid OPERATOR(pg_catalog.<>) ALL ({})",
                           std::exchange(word, " AND "), ListOf(leaves.other));
      }
      if (!range.condition.empty()) {
        sql += fmt::format("{}({})", std::exchange(word, " AND "), range.condition);
      }
      if (range.first_page > 0) {
        sql += fmt::format("{}t.ctid OPERATOR(pg_catalog.>=) '({},0)'::pg_catalog.tid", word,
                           range.first_page);
      }
    }
    return sql;
  }

  // Whether the stream contains rows of the row's leaf.
  std::string IsSent() const {
    return leaves.unsent.empty()
               ? "true"
               : fmt::format("r.tableoid OPERATOR(pg_catalog.<>) ALL ({})", ListOf(leaves.unsent));
  }

  std::string IsOwn() const { return own_rows_only ? HasNoOrigin("r.xmin") : "true"; }

  // Whether the row is older than its leaf as a part of the table: a table that is attached brings
  // rows that were never in the stream.
  std::string IsBrought() const {
    return leaves.attached.empty() ? "false"
                                   : "(l.xid IS NOT NULL AND pg_catalog.age(r.xmin) "
                                     "OPERATOR(pg_catalog.>=) pg_catalog.age(l.xid))";
  }

  std::string AttachedLeaves() const {
    std::string values;
    for (const TableLeaf* leaf : leaves.attached) {
      values += fmt::format("{}({}::pg_catalog.oid, '{}'::pg_catalog.xid)",
                            values.empty() ? "" : ", ", leaf->oid, leaf->attached_by);
    }
    return values.empty() ? ""
                          : fmt::format(
                                " LEFT JOIN (VALUES {}) l(oid, xid) "
                                "ON l.oid OPERATOR(pg_catalog.=) r.tableoid",
                                values);
  }

  std::string Sql() const {
    const std::string time = Time();
    std::string columns = "pg_catalog.count(*) AS all_rows";
    if (!classes.all_published && classes.unpublished_from) {
      const std::string condition =
          fmt::format("({} AND {} AND NOT {} AND {})", IsAtLeast(*classes.unpublished_from),
                      IsSent(), IsBrought(), IsOwn());
      columns += fmt::format(", pg_catalog.count(*) FILTER (WHERE {}) AS unpublished", condition);
      if (!time.empty()) {
        columns += fmt::format(
            ", extract(epoch FROM pg_catalog.clock_timestamp() OPERATOR(pg_catalog.-) "
            "pg_catalog.min(CASE WHEN {} THEN {} END)) AS age",
            condition, time);
      }
    }
    if (classes.unproven_before) {
      columns += fmt::format(
          ", pg_catalog.count(*) FILTER (WHERE {} AND (NOT {} OR {}) AND {}) AS unproven", IsSent(),
          IsAtLeast(*classes.unproven_before), IsBrought(), IsOwn());
    }
    if (!leaves.unsent.empty()) {
      columns += fmt::format(", pg_catalog.count(*) FILTER (WHERE NOT {}) AS unsent", IsSent());
    }
    return fmt::format(
        "{}SELECT {}, extract(epoch FROM pg_catalog.clock_timestamp()) AS taken FROM ({}) r{}",
        kCountLimits, columns, Rows(), AttachedLeaves());
  }
};

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
