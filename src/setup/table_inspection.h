// Reads the description of an existing table from the catalog, for `walrelay init`.
//
// Needs no privilege on the table; works on Postgres 13 to 18. Blocks for at most `timeout` per
// query. Not thread-safe on one connection.
#pragma once

#include "absl/status/statusor.h"
#include "outbox/table_description.h"
#include "postgres/connection.h"

namespace walrelay {

struct OutboxTable;

// Errors: WR-2302 if there is no relation of this name, with the names of tables that are similar;
// those of PgConnection::Query().
absl::StatusOr<TableDescription> InspectTable(PgConnection& connection, const OutboxTable& table,
                                              Micros timeout);

}  // namespace walrelay
