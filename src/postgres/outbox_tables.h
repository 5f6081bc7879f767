// Reads the outbox tables from the catalog as the stream sends them: which tables store their rows,
// under which name the stream sends the rows of each, and which columns it sends.
//
// This is the only description of the tables: what is streamed, counted, pruned, checked and
// published again follows from it. The queries read no table and no view that opens tables, so a
// lock on a table does not delay them.
//
// Every query runs on a walsender (simple protocol, no parameters) as well as on an ordinary
// connection, needs no privilege, and works on Postgres 13 to 18. Not thread-safe on one
// connection. Each query blocks for at most `timeout`. Errors: those of PgConnection::Query().
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "pgoutput/relation_cache.h"
#include "postgres/connection.h"
#include "walrelay/config/outbox_table.h"
#include "walrelay/publication_identity.h"
#include "walrelay/replication_source.h"

namespace walrelay {

// The tables that store the rows of one configured table. All empty: no such table.
struct TableLeaves {
  std::vector<TableLeaf> leaves;         // ascending by OID
  std::vector<RewrittenLeaf> rewritten;  // see TableIdentity
};

// One entry per table, in the same order; an entry without a name has no leaves.
absl::StatusOr<std::vector<TableLeaves>> ReadLeaves(PgConnection& connection,
                                                    std::string_view publication,
                                                    const std::vector<OutboxTable>& tables,
                                                    Micros timeout);

// One entry per table, in the same order; oid 0 for a table that does not exist.
absl::StatusOr<std::vector<TableInfo>> ReadTableInfo(PgConnection& connection,
                                                     std::string_view publication,
                                                     const std::vector<OutboxTable>& tables,
                                                     Micros timeout);

// A condition in SQL: whether the publication `p` contains the row of pg_class with the alias
// `relation`, by the publication's own rows of the catalog. Pure.
std::string IsPublished(std::string_view relation, int server_version);

// The table as a Relation message describes it: the columns that are sent. Pure.
// REQUIRES: table.oid is not 0.
pgoutput::CachedRelation RelationOf(const TableInfo& table);

}  // namespace walrelay
