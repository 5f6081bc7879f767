#include "postgres/publication_state.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>

#include "base/quote.h"
#include "config/table_name.h"
#include "postgres/outbox_tables.h"
#include "walrelay/config/source.h"
#include "walrelay/error.h"

namespace walrelay {
namespace {

constexpr int kSchemasVersion = 150000;  // FOR TABLES IN SCHEMA

// The position is computed after the snapshot for the rows is taken.
constexpr std::string_view kPublicationQuery = R"(
SELECT w.lsn, p.oid, p.xmin AS row_xmin, p.pubowner, p.puballtables
FROM (SELECT CASE WHEN pg_catalog.pg_is_in_recovery() THEN pg_catalog.pg_last_wal_replay_lsn()
                  ELSE pg_catalog.pg_current_wal_insert_lsn() END AS lsn) w
LEFT JOIN pg_catalog.pg_publication p ON p.pubname OPERATOR(pg_catalog.=) {0})";

// The table, with one row per membership in the publication.
// The xmin of the row type in pg_type stands for renaming and change of owner: the row in pg_class
// changes for many other reasons. LEFT JOIN: a table that is not a member has one row, too.
constexpr std::string_view kTableStateQuery = R"(
SELECT c.oid, c.relowner, c.relpersistence OPERATOR(pg_catalog.=) 'u' AS unlogged,
       t.xmin AS type_xmin, m.oid AS member, m.xmin AS member_xmin
FROM pg_catalog.pg_class c
JOIN pg_catalog.pg_namespace n ON n.oid OPERATOR(pg_catalog.=) c.relnamespace
JOIN pg_catalog.pg_type t ON t.oid OPERATOR(pg_catalog.=) c.reltype
LEFT JOIN ({3}) m ON m.relation OPERATOR(pg_catalog.=) c.oid
WHERE n.nspname OPERATOR(pg_catalog.=) {1} AND c.relname OPERATOR(pg_catalog.=) {2}
  AND c.relkind OPERATOR(pg_catalog.=) ANY (ARRAY['r', 'p']::pg_catalog."char"[])
ORDER BY m.oid)";

// The memberships of table {1}.{2} and of the tables that it is a partition of.
constexpr std::string_view kRelationMembers = R"(
  SELECT r.oid, r.xmin, a.relation
  FROM (SELECT o.oid AS relation, o.oid AS ancestor FROM pg_catalog.pg_class o
        JOIN pg_catalog.pg_namespace s ON s.oid OPERATOR(pg_catalog.=) o.relnamespace
        WHERE s.nspname OPERATOR(pg_catalog.=) {1} AND o.relname OPERATOR(pg_catalog.=) {2}
        UNION
        SELECT o.oid, p.relid::pg_catalog.oid FROM pg_catalog.pg_class o
        JOIN pg_catalog.pg_namespace s ON s.oid OPERATOR(pg_catalog.=) o.relnamespace,
        LATERAL pg_catalog.pg_partition_ancestors(o.oid) p
        WHERE s.nspname OPERATOR(pg_catalog.=) {1} AND o.relname OPERATOR(pg_catalog.=) {2}) a
  JOIN pg_catalog.pg_publication_rel r ON r.prrelid OPERATOR(pg_catalog.=) a.ancestor
  JOIN pg_catalog.pg_publication b ON b.oid OPERATOR(pg_catalog.=) r.prpubid
  WHERE b.pubname OPERATOR(pg_catalog.=) {0})";
// pg_publication_namespace exists from version 15 on: a query that names it fails on older servers.
constexpr std::string_view kSchemaMembers = R"(
  UNION ALL
  SELECT x.oid, x.xmin, o.oid
  FROM pg_catalog.pg_publication_namespace x
  JOIN pg_catalog.pg_publication b ON b.oid OPERATOR(pg_catalog.=) x.pnpubid
  JOIN pg_catalog.pg_class o ON o.relnamespace OPERATOR(pg_catalog.=) x.pnnspid
  JOIN pg_catalog.pg_namespace s ON s.oid OPERATOR(pg_catalog.=) o.relnamespace
  WHERE b.pubname OPERATOR(pg_catalog.=) {0} AND s.nspname OPERATOR(pg_catalog.=) {1}
    AND o.relname OPERATOR(pg_catalog.=) {2})";

constexpr std::string_view kCatalogXminQuery = R"(
SELECT s.catalog_xmin FROM pg_catalog.pg_replication_slots s
WHERE s.slot_name OPERATOR(pg_catalog.=) {} AND s.catalog_xmin IS NOT NULL AND NOT EXISTS (
  SELECT 1 FROM pg_catalog.pg_replication_slots o
  WHERE o.slot_name OPERATOR(pg_catalog.<>) s.slot_name
    AND pg_catalog.age(o.catalog_xmin) OPERATOR(pg_catalog.>=) pg_catalog.age(s.catalog_xmin)))";

// OIDs and xids are unsigned 32-bit numbers; Int() parses 64 bits.
uint32_t Number(const PgResult& result, int row, const char* column) {
  return static_cast<uint32_t>(result.Int(row, column));
}

absl::StatusOr<TableIdentity> ReadTableIdentity(PgConnection& connection,
                                                const std::string& publication,
                                                const OutboxTable& table, Micros timeout) {
  TableIdentity identity{.name = QualifiedName(table)};
  const std::string schema = QuoteLiteral(table.schema);
  const std::string name = QuoteLiteral(table.name);
  std::string members = fmt::format(kRelationMembers, publication, schema, name);
  if (connection.server_version_num() >= kSchemasVersion) {
    members += fmt::format(kSchemaMembers, publication, schema, name);
  }
  WR_ASSIGN_OR_RETURN(
      const PgResult found,
      connection.Query(fmt::format(kTableStateQuery, publication, schema, name, members), timeout));
  // One row per membership: the other columns repeat.
  for (int row = 0; row < found.rows(); ++row) {
    identity.oid = Number(found, row, "oid");
    identity.owner = Number(found, row, "relowner");
    identity.renamed_by = Number(found, row, "type_xmin");
    identity.unlogged = found.Bool(row, "unlogged");
    if (found.Get(row, "member")) {
      identity.memberships.push_back(
          {Number(found, row, "member"), Number(found, row, "member_xmin")});
    }
  }
  return identity;
}

// As age() compares: modulo 2^32.
bool IsOlder(uint32_t xid, uint32_t other) {
  return static_cast<int32_t>(xid - other) < 0;
}

// The first of several memberships counts. nullopt: the table is a part of every publication
// like this one, or of none.
std::optional<uint32_t> JoinedBy(const PublicationIdentity& publication,
                                 const TableIdentity& table) {
  std::optional<uint32_t> first;
  for (const Membership& membership : table.memberships) {
    first = first && IsOlder(*first, membership.xmin) ? *first : membership.xmin;
  }
  return publication.all_tables ? std::nullopt : first;
}

}  // namespace

absl::StatusOr<PublicationState> ReadPublicationState(PgConnection& connection,
                                                      const SourceConfig& source, Lsn wal_before,
                                                      Micros timeout) {
  PublicationState look{.identity = {}, .before = wal_before, .after = wal_before};
  const std::string publication = QuoteLiteral(source.publication);
  WR_ASSIGN_OR_RETURN(std::vector<TableLeaves> leaves,
                      ReadLeaves(connection, source.publication, source.tables, timeout));
  for (size_t i = 0; i < source.tables.size(); ++i) {
    if (source.tables[i].name.empty()) {
      continue;  // no table, only logical messages
    }
    WR_ASSIGN_OR_RETURN(TableIdentity identity,
                        ReadTableIdentity(connection, publication, source.tables[i], timeout));
    identity.rewritten = std::move(leaves[i].rewritten);
    // The table itself is described by its memberships.
    std::copy_if(leaves[i].leaves.begin(), leaves[i].leaves.end(),
                 std::back_inserter(identity.unsent), [&](const TableLeaf& leaf) {
                   return leaf.stream != LeafStream::kSent && leaf.oid != identity.oid;
                 });
    look.identity.tables.push_back(std::move(identity));
  }
  // Last, so that all rows read are from before this position.
  WR_ASSIGN_OR_RETURN(const PgResult found,
                      connection.Query(fmt::format(kPublicationQuery, publication), timeout));
  if (found.rows() != 1) {
    return Error(ErrorCode::kPostgresError, "the query for the publication returned no row");
  }
  look.after = Lsn::Parse(found.Text(0, "lsn")).value_or(wal_before);
  if (found.Get(0, "oid")) {
    look.identity.oid = Number(found, 0, "oid");
    look.identity.xmin = Number(found, 0, "row_xmin");
    look.identity.owner = Number(found, 0, "pubowner");
    look.identity.all_tables = found.Bool(0, "puballtables");
  }
  return look;
}

absl::StatusOr<RecentChanges> ReadRecentChanges(PgConnection& connection, const std::string& slot,
                                                const PublicationIdentity& publication,
                                                Micros timeout) {
  RecentChanges changes;
  WR_ASSIGN_OR_RETURN(
      const PgResult found,
      connection.Query(fmt::format(kCatalogXminQuery, QuoteLiteral(slot)), timeout));
  if (found.rows() == 0) {
    return changes;
  }
  const uint32_t oldest = Number(found, 0, "catalog_xmin");
  changes.publication = publication.oid != 0 && !IsOlder(publication.xmin, oldest);
  for (const TableIdentity& table : publication.tables) {
    const auto joined = JoinedBy(publication, table);
    // CREATE PUBLICATION has added it itself.
    if (joined && *joined != publication.xmin && !IsOlder(*joined, oldest)) {
      changes.tables.push_back({.name = table.name, .joined_by = *joined});
    }
  }
  return changes;
}

}  // namespace walrelay
