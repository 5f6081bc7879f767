// RecoveryFacts: what a recovery has to know of a server, besides what a relay reads.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "absl/status/statusor.h"
#include "postgres/connection.h"
#include "walrelay/clock.h"
#include "walrelay/replication_source.h"
#include "walrelay/xid_horizon.h"

namespace walrelay {

struct RecoveryFacts {
  XidStart next;               // the xid that is assigned next
  uint64_t slot_from_xid = 0;  // see RecoverEvidence
  // Rows deleted from the tables and their partitions since the last reset of statistics. Postgres
  // may report them late, and loses them in a crash.
  uint64_t deleted_rows = 0;
};

// On an ordinary connection to a primary. Blocks for at most `timeout`. Errors are those of
// PgConnection::Query().
absl::StatusOr<RecoveryFacts> ReadRecoveryFacts(PgConnection& connection,
                                                std::span<const TableInfo> tables,
                                                std::string_view slot, Micros timeout);

}  // namespace walrelay
