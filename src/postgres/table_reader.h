// Reads outbox tables: their size and statistics, and a count of their rows as far as that is cheap
// (outbox/count_plan.h).
//
// Works on any ordinary connection, Postgres 13 to 18. The size needs no privilege; counting needs
// SELECT on the table. A count runs for at most a second, without parallel workers, and holds no
// lock that keeps other sessions from reading or writing rows.
#pragma once

#include <vector>

#include "absl/status/statusor.h"
#include "outbox/row_classes.h"
#include "outbox/table_reading.h"
#include "postgres/connection.h"
#include "walrelay/config/source.h"
#include "walrelay/replication_source.h"
#include "walrelay/xid_horizon.h"

namespace walrelay {

// The facts about the rows that are known before they are counted.
struct RowKnowledge {
  RowClasses classes;  // of a reading of this connection's server
  WallTime as_of;      // when the reading was taken, by the server's clock
  // kNone: rows that are known to have another origin are not counted as unpublished.
  OriginFilter origin = OriginFilter::kUnset;
};

// The tables that exist, in the order of `tables`. An error that prevents a count is part of the
// result.
absl::StatusOr<std::vector<TableReading>> ReadTables(PgConnection& connection,
                                                     const std::vector<TableInfo>& tables,
                                                     const RowKnowledge& knowledge, Micros timeout);

}  // namespace walrelay
