// The partitions of an outbox table: creates those of the next periods, and drops old ones of which
// every row is published.
//
// A partition is dropped in one transaction, which first locks it against writers, then compares
// every row with the proof, and only then drops it: nothing is detached before it is checked, so a
// crash at any point leaves the table as it was. DROP TABLE needs an exclusive lock on the whole
// table; walrelay waits for it for kRootLockTimeout at most and tries again at the next call,
// because all inserts wait behind a session that waits for such a lock. (DETACH CONCURRENTLY needs
// no such lock, but Postgres 13 does not have it, it does not work with a DEFAULT partition, and it
// is two transactions: a row that is not published would have to be attached again, which may
// fail.)
//
// Adding or dropping a partition is not a gap for a relay: the publication has the table's root.
//
// Blocks for as long as the queries take. Not thread-safe on one connection.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "outbox/partition_plan.h"
#include "postgres/connection.h"
#include "prune/prune_action.h"
#include "prune/prune_proof.h"
#include "prune/prune_status.h"

namespace walrelay {

struct OutboxTable;

// How long a session may wait for a lock that makes inserts wait. Shorter than deadlock_timeout.
inline constexpr Micros kRootLockTimeout = std::chrono::milliseconds(200);

// `ahead`: the number of periods after the present one that have a partition. `keep`: partitions of
// which every row is older are dropped, as the proof allows; nullopt: none is dropped.
struct PartitionPolicy {
  PartitionPeriod period = PartitionPeriod::kDaily;
  int ahead = 7;
  std::optional<Micros> keep;
};

// Reads the partitions of a table. Errors: WR-2309 if it is not partitioned by range of one column
// of type timestamptz, timestamp or date, whose values count as UTC.
absl::StatusOr<std::vector<OutboxPartition>> ReadPartitions(PgConnection& connection,
                                                            const OutboxTable& table,
                                                            Micros timeout);

// Errors: WR-2322 if the role of the connection may not create and drop partitions of the table.
absl::Status CheckPartitionOwner(PgConnection& connection, const OutboxTable& table,
                                 Micros timeout);

absl::StatusOr<bool> HasRows(PgConnection& connection, const OutboxPartition& partition,
                             Micros timeout);

// Creates the missing partitions, then drops old ones, the oldest first; or only tells which ones
// it would create and drop. Without a proof nothing is dropped. `now` is by the server's clock.
//
// A lock that is not available, a DEFAULT partition that has rows of a missing period, an
// unpublished row and the like are problems of one partition, not errors: the others are handled.
// Errors: WR-2309; WR-2007 if the role does not own the table; those of PgConnection::Query().
// Changes made before an error remain.
//
// REQUIRES: a session that may write, outside of a transaction (ConnectionPurpose::kSetup).
absl::StatusOr<PartitionChanges> MaintainPartitions(PgConnection& connection,
                                                    const OutboxTable& table,
                                                    const std::optional<PruneProof>& proof,
                                                    const PartitionPolicy& policy,
                                                    PruneAction action, WallTime now);

}  // namespace walrelay
