#include "setup/table_inspection.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/quote.h"
#include "base/text.h"
#include "postgres/outbox_tables.h"
#include "walrelay/config/outbox_table.h"
#include "walrelay/error.h"

namespace walrelay {
namespace {

// reltuples is -1 for a table that was never analyzed, 0 before version 14.
constexpr std::string_view kTableQuery = R"(
SELECT c.oid, c.relkind, c.relispartition,
       c.reltuples::pg_catalog.int8 AS rows,
       CASE WHEN c.relkind OPERATOR(pg_catalog.=) 'p'
            THEN pg_catalog.pg_get_partkeydef(c.oid) END AS partition_key,
       (SELECT r.relid::pg_catalog.regclass::pg_catalog.text
        FROM pg_catalog.pg_partition_ancestors(c.oid) WITH ORDINALITY r(relid, n)
        ORDER BY r.n DESC LIMIT 1) AS root
FROM pg_catalog.pg_class c
JOIN pg_catalog.pg_namespace s ON s.oid OPERATOR(pg_catalog.=) c.relnamespace
WHERE s.nspname OPERATOR(pg_catalog.=) {} AND c.relname OPERATOR(pg_catalog.=) {}
  AND c.relkind OPERATOR(pg_catalog.=) ANY (ARRAY['r', 'p', 'v', 'm', 'f']::pg_catalog."char"[]))";

// type_oid of a domain is its base type, as the stream describes it. Generated columns are not
// sent.
constexpr std::string_view kColumnsQuery = R"(
SELECT a.attname, a.attnotnull,
       pg_catalog.format_type(a.atttypid, a.atttypmod) AS type,
       (WITH RECURSIVE base(oid) AS (
          SELECT a.atttypid
          UNION ALL
          SELECT d.typbasetype FROM base
          JOIN pg_catalog.pg_type d ON d.oid OPERATOR(pg_catalog.=) base.oid
          WHERE d.typtype OPERATOR(pg_catalog.=) 'd')
        SELECT base.oid FROM base
        JOIN pg_catalog.pg_type t ON t.oid OPERATOR(pg_catalog.=) base.oid
        WHERE t.typtype OPERATOR(pg_catalog.<>) 'd') AS type_oid
FROM pg_catalog.pg_attribute a
WHERE a.attrelid OPERATOR(pg_catalog.=) {} AND a.attnum OPERATOR(pg_catalog.>) 0
  AND NOT a.attisdropped AND a.attgenerated OPERATOR(pg_catalog.=) ''
ORDER BY a.attnum)";

constexpr std::string_view kPrimaryKeyQuery = R"(
SELECT a.attname AS name
FROM pg_catalog.pg_index i
CROSS JOIN LATERAL pg_catalog.unnest(i.indkey::pg_catalog.int2[]) WITH ORDINALITY k(attnum, n)
JOIN pg_catalog.pg_attribute a ON a.attrelid OPERATOR(pg_catalog.=) i.indrelid
  AND a.attnum OPERATOR(pg_catalog.=) k.attnum
WHERE i.indrelid OPERATOR(pg_catalog.=) {} AND i.indisprimary
ORDER BY k.n)";

// Not pg_publication_tables, which opens every table of each publication from version 16 on.
constexpr std::string_view kPublicationsQuery = R"(
SELECT p.pubname AS name FROM pg_catalog.pg_publication p
JOIN pg_catalog.pg_class c ON c.oid OPERATOR(pg_catalog.=) {} AND {}
ORDER BY 1)";

// A wrong schema is the most frequent mistake; then, that the application has other names.
constexpr std::string_view kSimilarQuery = R"(
SELECT pg_catalog.format('%I.%I', s.nspname, c.relname) AS name
FROM pg_catalog.pg_class c
JOIN pg_catalog.pg_namespace s ON s.oid OPERATOR(pg_catalog.=) c.relnamespace
WHERE c.relkind OPERATOR(pg_catalog.=) ANY (ARRAY['r', 'p']::pg_catalog."char"[])
  AND NOT c.relispartition
  AND s.nspname OPERATOR(pg_catalog.<>) ALL (ARRAY['pg_catalog', 'information_schema'])
  AND (c.relname OPERATOR(pg_catalog.=) {}
       OR c.relname OPERATOR(pg_catalog.~~*) ANY (ARRAY['%outbox%', '%event%', '%message%']))
ORDER BY c.relname OPERATOR(pg_catalog.=) {} DESC, 1
LIMIT 10)";

absl::StatusOr<std::vector<std::string>> ReadNames(PgConnection& connection,
                                                   const std::string& query, Micros timeout) {
  WR_ASSIGN_OR_RETURN(const PgResult rows, connection.Query(query, timeout));
  std::vector<std::string> names;
  for (int row = 0; row < rows.rows(); ++row) {
    names.emplace_back(rows.Text(row, "name"));
  }
  return names;
}

absl::StatusOr<std::vector<DescribedColumn>> ReadColumns(PgConnection& connection, int64_t oid,
                                                         Micros timeout) {
  WR_ASSIGN_OR_RETURN(const PgResult rows,
                      connection.Query(fmt::format(kColumnsQuery, oid), timeout));
  std::vector<DescribedColumn> columns;
  for (int row = 0; row < rows.rows(); ++row) {
    columns.push_back({.name = std::string(rows.Text(row, "attname")),
                       .type = std::string(rows.Text(row, "type")),
                       .type_oid = static_cast<uint32_t>(rows.Int(row, "type_oid")),
                       .not_null = rows.Bool(row, "attnotnull")});
  }
  return columns;
}

absl::Status Missing(PgConnection& connection, const OutboxTable& table, Micros timeout) {
  const std::string name = QuoteLiteral(table.name);
  WR_ASSIGN_OR_RETURN(const std::vector<std::string> similar,
                      ReadNames(connection, fmt::format(kSimilarQuery, name, name), timeout));
  std::string names;
  for (const std::string& each : similar) {
    names += (names.empty() ? "" : ", ") + Printable(each, 130);
  }
  return Error(ErrorCode::kTableMissing,
               fmt::format("{}.{} in database {}", Printable(table.schema, 63),
                           Printable(table.name, 63), Printable(connection.database(), 63)),
               names.empty() ? "" : fmt::format("Tables with similar names: {}.", names));
}

bool IsUnlogged(const TableLeaves& table) {
  return std::any_of(table.leaves.begin(), table.leaves.end(),
                     [](const TableLeaf& leaf) { return leaf.stream == LeafStream::kUnlogged; });
}

TableDescription::Kind KindOf(const PgResult& row) {
  const std::string_view kind = row.Text(0, "relkind");
  if (kind != "r" && kind != "p") {
    return TableDescription::Kind::kOther;
  }
  if (row.Bool(0, "relispartition")) {
    return TableDescription::Kind::kPartition;
  }
  return kind == "p" ? TableDescription::Kind::kPartitioned : TableDescription::Kind::kTable;
}

}  // namespace

absl::StatusOr<TableDescription> InspectTable(PgConnection& connection, const OutboxTable& table,
                                              Micros timeout) {
  const std::string schema = QuoteLiteral(table.schema);
  const std::string name = QuoteLiteral(table.name);
  WR_ASSIGN_OR_RETURN(const PgResult found,
                      connection.Query(fmt::format(kTableQuery, schema, name), timeout));
  if (found.rows() == 0) {
    return Missing(connection, table, timeout);
  }
  const int64_t oid = found.Int(0, "oid");
  const int64_t rows = found.Int(0, "rows");
  WR_ASSIGN_OR_RETURN(const std::vector<TableLeaves> leaves,
                      ReadLeaves(connection, /*publication=*/"", {table}, timeout));
  TableDescription description{.schema = table.schema,
                               .name = table.name,
                               .kind = KindOf(found),
                               .root = std::string(found.Text(0, "root")),
                               .unlogged = IsUnlogged(leaves.front()),
                               .partition_key = std::string(found.Text(0, "partition_key")),
                               .estimated_rows = rows > 0 ? rows : -1};
  WR_ASSIGN_OR_RETURN(description.columns, ReadColumns(connection, oid, timeout));
  WR_ASSIGN_OR_RETURN(description.primary_key,
                      ReadNames(connection, fmt::format(kPrimaryKeyQuery, oid), timeout));
  WR_ASSIGN_OR_RETURN(description.publications,
                      ReadNames(connection,
                                fmt::format(kPublicationsQuery, oid,
                                            IsPublished("c", connection.server_version_num())),
                                timeout));
  return description;
}

}  // namespace walrelay
