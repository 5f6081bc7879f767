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
// Adding or dropping a partition is no gap for a relay: the publication has the root of the table.
//
// Blocks for as long as the queries take. Not thread-safe on one connection.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "outbox/partition_plan.h"
#include "postgres/connection.h"
#include "stream/published_xids.h"
#include "walrelay/config.h"

namespace walrelay {

// How long a session may wait for a lock that makes inserts wait. Shorter than deadlock_timeout.
inline constexpr Micros kRootLockTimeout = std::chrono::milliseconds(200);

// `ahead`: the number of periods after the present one that have a partition. `keep`: partitions of
// which every row is older are dropped, as the proof allows; nullopt: none is dropped.
struct PartitionPolicy {
  PartitionPeriod period = PartitionPeriod::kDaily;
  int ahead = 7;
  std::optional<Micros> keep;
};

// What is proven about the rows of one server, and how that server is recognized. REQUIRES of the
// caller: `xids` are those of PublishedXidsOf() for this server and timeline, by a record that the
// brokers have acknowledged.
struct ProvenRows {
  PublishedXids xids;
  uint32_t timeline = 0;
  // Of the walsender that reads the slot: a server that was restored has another one, or none.
  int backend_pid = 0;
  std::string slot;
};

// A partition that was not created, or that is old and was not dropped, with the reason.
struct PartitionProblem {
  std::string partition;
  std::string reason;
};

struct PartitionChanges {
  std::vector<std::string> created;
  std::vector<std::string> dropped;
  std::vector<PartitionProblem> problems;
};

// Reads the partitions of a table. Errors: WR-2309 if it is not partitioned by range of one column
// of type timestamptz, timestamp or date, whose values count as UTC.
absl::StatusOr<std::vector<OutboxPartition>> ReadPartitions(PgConnection& connection,
                                                            const OutboxTable& table,
                                                            Micros timeout);

// Creates the missing partitions, then drops old ones, the oldest first. Without `proven` nothing
// is dropped. `now` is by the server's clock.
//
// A lock that is not available, a DEFAULT partition that has rows of a missing period, an
// unpublished row and the like are problems of one partition, not errors: the others are handled.
// Errors: WR-2309; WR-2007 if the role does not own the table; those of PgConnection::Query(). What
// was done before an error remains.
//
// REQUIRES: a session that may write, outside of a transaction (ConnectionPurpose::kSetup).
absl::StatusOr<PartitionChanges> MaintainPartitions(PgConnection& connection,
                                                    const OutboxTable& table,
                                                    const std::optional<ProvenRows>& proven,
                                                    const PartitionPolicy& policy, WallTime now);

}  // namespace walrelay
