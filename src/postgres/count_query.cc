#include "postgres/count_query.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <utility>

#include "postgres/row_query.h"

namespace walrelay {
namespace {

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

}  // namespace

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

// The time of a row: an expression, or "" if its table has none.
std::string CountQuery::Time() const {
  return commit_times          ? "pg_catalog.pg_xact_commit_timestamp(r.xmin)"
         : time_column.empty() ? ""
                               : "r." + time_column;
}

// The rows of the ranges. A condition names columns without their table, so each has a FROM of
// its own.
std::string CountQuery::Rows() const {
  std::string sql;
  for (const PartPages& range : plan.ranges) {
    sql += fmt::format("{}SELECT t.xmin, t.tableoid{} FROM {} t", sql.empty() ? "" : " UNION ALL ",
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
std::string CountQuery::IsSent() const {
  return leaves.unsent.empty()
             ? "true"
             : fmt::format("r.tableoid OPERATOR(pg_catalog.<>) ALL ({})", ListOf(leaves.unsent));
}

std::string CountQuery::IsOwn() const {
  return own_rows_only ? HasNoOrigin("r.xmin") : "true";
}

// Whether the row is older than its leaf as a part of the table: a table that is attached brings
// rows that were never in the stream.
std::string CountQuery::IsBrought() const {
  return leaves.attached.empty() ? "false"
                                 : "(l.xid IS NOT NULL AND pg_catalog.age(r.xmin) "
                                   "OPERATOR(pg_catalog.>=) pg_catalog.age(l.xid))";
}

std::string CountQuery::AttachedLeaves() const {
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

std::string CountQuery::Sql() const {
  const std::string time = Time();
  std::string columns = "pg_catalog.count(*) AS all_rows";
  if (!classes.all_published && classes.unpublished_from) {
    const std::string condition =
        fmt::format("({} AND {} AND NOT {} AND {})", IsAtLeast(*classes.unpublished_from), IsSent(),
                    IsBrought(), IsOwn());
    columns += fmt::format(", pg_catalog.count(*) FILTER (WHERE {}) AS unpublished", condition);
    if (!time.empty()) {
      columns += fmt::format(
          ", extract(epoch FROM pg_catalog.clock_timestamp() OPERATOR(pg_catalog.-) "
          "pg_catalog.min(CASE WHEN {} THEN {} END)) AS age",
          condition, time);
    }
  }
  if (classes.unproven_before) {
    columns +=
        fmt::format(", pg_catalog.count(*) FILTER (WHERE {} AND (NOT {} OR {}) AND {}) AS unproven",
                    IsSent(), IsAtLeast(*classes.unproven_before), IsBrought(), IsOwn());
  }
  if (!leaves.unsent.empty()) {
    columns += fmt::format(", pg_catalog.count(*) FILTER (WHERE NOT {}) AS unsent", IsSent());
  }
  return fmt::format(
      "{}SELECT {}, extract(epoch FROM pg_catalog.clock_timestamp()) AS taken FROM ({}) r{}",
      kCountLimits, columns, Rows(), AttachedLeaves());
}

}  // namespace walrelay
