#include "prune/prune_query.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/check.h"
#include "base/quote.h"
#include "base/text.h"
#include "walrelay/config/prune.h"

namespace walrelay {
namespace {

// TID range scans.
constexpr int kRangeScanVersion = 140000;
// MaxHeapTuplesPerPage of pages of 32 kB, the largest that Postgres supports. Source:
// src/include/access/htup_details.h.
constexpr int kMostRowsPerPage = 1164;
// FirstNormalTransactionId. Rows from before version 9.4 only show that they are frozen.
constexpr int kFirstXid = 3;

std::string Relation(const PruneTable& table) {
  return fmt::format("{}.{}", QuoteIdentifier(table.schema), QuoteIdentifier(table.name));
}

// Before version 14, a range of TIDs would read the whole table.
std::string InRange(PageRange range, int server_version) {
  if (ScansRanges(server_version)) {
    return fmt::format(
        "t.ctid OPERATOR(pg_catalog.>=) '({},0)'::pg_catalog.tid AND "
        "t.ctid OPERATOR(pg_catalog.<) '({},0)'::pg_catalog.tid",
        range.begin, range.end);
  }
  return fmt::format(
      "t.ctid OPERATOR(pg_catalog.=) ANY (ARRAY(SELECT pg_catalog.format('(%s,%s)', page, "
      "item)::pg_catalog.tid FROM pg_catalog.generate_series({}, {}) page, "
      "pg_catalog.generate_series(1, {}) item))",
      range.begin, static_cast<int64_t>(range.end) - 1, kMostRowsPerPage);
}

std::string IsOld(const PruneConfig& config) {
  const std::string time = QuoteIdentifier(config.time_column);
  return fmt::format(
      "t.{} OPERATOR(pg_catalog.<) (pg_catalog.now() OPERATOR(pg_catalog.-) "
      "'{} microseconds'::pg_catalog.interval)",
      time, config.keep.count());
}

std::string IsUnmarked(const PruneConfig& config, const PruneTable& table) {
  return config.mode != PruneMode::kMark
             ? "true"
             : fmt::format("t.{} IS {}", QuoteIdentifier(config.mark_column),
                           table.mark_is_boolean ? "NOT TRUE" : "NULL");
}

// As PublishedXids::Include().
std::string IsProven(const PruneConfig& config, const PruneTable& table,
                     const PublishedXids& xids) {
  constexpr uint64_t kXids = uint64_t{1} << 32;
  const WallTime from =
      xids.from.taken + (table.time_has_zone ? Micros(0) : PublishedXids::kFurthestZone);
  const std::string xmin = "t.xmin::pg_catalog.text::pg_catalog.int8";
  return fmt::format(
      "{} OPERATOR(pg_catalog.>=) {} AND (({}::pg_catalog.int8 OPERATOR(pg_catalog.-) {}) "
      "OPERATOR(pg_catalog.%) {}::pg_catalog.int8) OPERATOR(pg_catalog.<) {}::pg_catalog.int8 AND "
      "t.{} OPERATOR(pg_catalog.>=) {}::pg_catalog.timestamptz",
      xmin, kFirstXid, kXids + (xids.before - 1) % kXids, xmin, kXids, xids.length(),
      QuoteIdentifier(config.time_column), QuoteLiteral(Rfc3339(from)));
}

// A table that is attached as a partition may bring rows that were never in the stream. age() of an
// xid that is too old is negative: nothing is pruned then.
std::string WasPartition(const PruneTable& table) {
  return fmt::format(
      "pg_catalog.age(t.xmin) OPERATOR(pg_catalog.<) COALESCE((SELECT "
      "pg_catalog.min(pg_catalog.age(i.xmin)) FROM pg_catalog.pg_inherits i "
      "JOIN pg_catalog.pg_partition_ancestors({}::pg_catalog.regclass) a "
      "ON i.inhrelid OPERATOR(pg_catalog.=) a.relid::pg_catalog.oid), 2147483647)",
      QuoteLiteral(Relation(table)));
}

std::string Change(const PruneConfig& config, const PruneTable& table) {
  return config.mode != PruneMode::kMark
             ? fmt::format("DELETE FROM ONLY {} t", Relation(table))
             : fmt::format("UPDATE ONLY {} t SET {} = {}", Relation(table),
                           QuoteIdentifier(config.mark_column),
                           table.mark_is_boolean ? "true" : "pg_catalog.now()");
}

}  // namespace

bool ScansRanges(int server_version) {
  return server_version >= kRangeScanVersion;
}

// Without SKIP LOCKED, which needs the privilege to update: a row that is locked lets the statement
// fail after a short lock_timeout, and the range is read again in the next pass.
std::string PruneQuery(const PruneConfig& config, const PruneTable& table, const PruneProof& proof,
                       PruneAction action, PageRange range, int server_version) {
  WR_CHECK(config.mode != PruneMode::kOff, "pruning is on");
  WR_CHECK(range.begin < range.end, "a range has pages");
  const std::string old = fmt::format("{} AND {} AND {}", InRange(range, server_version),
                                      IsOld(config), IsUnmarked(config, table));
  const std::string proven =
      fmt::format("({} AND {})", IsProven(config, table, proof.xids), WasPartition(table));
  const std::string pruned =
      action == PruneAction::kApply
          ? fmt::format("{} WHERE (SELECT same FROM server) AND {} AND {} RETURNING 1",
                        Change(config, table), old, proven)
          : fmt::format("SELECT 1 FROM ONLY {} t WHERE {} AND {}", Relation(table), old, proven);
  return fmt::format(
      "WITH server AS MATERIALIZED (SELECT {} AS same), pruned AS ({}), "
      "kept AS (SELECT pg_catalog.count(*) AS rows, extract(epoch FROM pg_catalog.max("
      "pg_catalog.now() OPERATOR(pg_catalog.-) t.{})) AS oldest "
      "FROM ONLY {} t WHERE {} AND NOT {}) "
      "SELECT (SELECT same FROM server) AS same_server, "
      "(SELECT pg_catalog.count(*) FROM pruned) AS pruned, "
      "kept.rows AS kept, kept.oldest AS oldest_kept FROM kept",
      IsServerOf(proof), pruned, QuoteIdentifier(config.time_column), Relation(table), old, proven);
}

// A partition may lack a privilege that its root has: it is read directly.
std::string PruneTablesQuery(const PruneConfig& config, const std::vector<uint32_t>& oids) {
  const auto type_of = [](const std::string& column) {
    return fmt::format(
        "(SELECT ty.typname FROM pg_catalog.pg_attribute a JOIN pg_catalog.pg_type ty "
        "ON ty.oid OPERATOR(pg_catalog.=) a.atttypid "
        "WHERE a.attrelid OPERATOR(pg_catalog.=) c.oid "
        "AND a.attname OPERATOR(pg_catalog.=) {} AND NOT a.attisdropped "
        "AND ty.typnamespace OPERATOR(pg_catalog.=) 'pg_catalog'::pg_catalog.regnamespace)",
        QuoteLiteral(column));
  };
  const std::string privilege = config.mode == PruneMode::kMark
                                    ? fmt::format("has_column_privilege(c.oid, {}, 'UPDATE')",
                                                  QuoteLiteral(config.mark_column))
                                    : "has_table_privilege(c.oid, 'DELETE')";
  return fmt::format(
      "SELECT n.nspname AS schema, c.relname AS name, "
      "pg_catalog.pg_relation_size(c.oid) OPERATOR(pg_catalog./) "
      "pg_catalog.current_setting('block_size')::pg_catalog.int8 AS pages, "
      "{} AS time_type, {} AS mark_type, "
      "pg_catalog.has_table_privilege(c.oid, 'SELECT') AND CASE WHEN {} THEN pg_catalog.{} "
      "ELSE true END AS granted "
      "FROM pg_catalog.pg_class c "
      "JOIN pg_catalog.pg_namespace n ON n.oid OPERATOR(pg_catalog.=) c.relnamespace "
      "WHERE c.oid OPERATOR(pg_catalog.=) ANY (ARRAY[{}]::pg_catalog.oid[]) AND {} ORDER BY 1, 2",
      type_of(config.time_column), type_of(config.mark_column),
      config.mode == PruneMode::kMark ? type_of(config.mark_column) + " IS NOT NULL" : "true",
      privilege, fmt::join(oids, ", "),
      config.mode == PruneMode::kDrop ? "EXISTS (SELECT 1 FROM pg_catalog.pg_partitioned_table d "
                                        "WHERE d.partdefid OPERATOR(pg_catalog.=) c.oid)"
                                      : "true");
}

}  // namespace walrelay
