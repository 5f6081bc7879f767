// RowSelection: some rows of the outbox tables, as data; and the SQL that selects them from one
// table.
//
// Pure: what comes from a command line or from a record is quoted here, and never becomes SQL.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "pgoutput/relation_cache.h"
#include "walrelay/clock.h"
#include "walrelay/xid_horizon.h"

namespace walrelay {

struct OutboxTable;
struct RouteConfig;

// All conditions that are set must hold; without any, every row is selected. Values are compared
// with the columns that the configuration maps: id, aggregate id.
struct RowSelection {
  std::vector<std::string> ids;         // compared as text; ids without a row are ignored
  std::optional<std::string> after_id;  // greater, by the order of the column's type
  std::optional<std::string> key;       // the aggregate id, as text
  // Rows of [since, until), by the time column.
  std::optional<WallTime> since;
  std::optional<WallTime> until;
  // "": route.timestamp_column, or else "created_at" if the table has it, or else the commit time,
  // if the server records commit times.
  std::string time_column;
  // Rows whose xmin is in [xid_from, xid_before), with the epoch; 0: no limit. The epoch of a row
  // that is older than 2^32 transactions is unknown: it may be selected like a newer one.
  uint64_t xid_from = 0;
  uint64_t xid_before = 0;
  // The proof that rows before xid_from are published begins here. It does not cover all of them:
  // the rows that it does not cover are selected, too. Not valid: it covers all.
  XidStart proven_from;
  WallTime proven_as_of;           // when all transactions before xid_from had ended
  std::string proven_time_column;  // a row's time is compared only if it has the type timestamptz
  bool attachments_known = true;   // false: an upgrade has written the partitions' catalog again

  std::string order_by;  // a column; "": see RowOrder
  uint64_t limit = 0;    // of rows of all tables; 0: no limit

  // Whether no condition is set. The limit is not a condition: it does not say which rows.
  bool selects_all() const {
    return ids.empty() && !after_id && !key && !since && !until && xid_from == 0 && xid_before == 0;
  }
};

// A partition with the xid of the transaction that attached it, or a table above it.
struct AttachedPartition {
  uint32_t oid = 0;
  uint64_t xid = 0;
};

// How the rows of a table are ordered. In each case rows that are equal in it follow in the order
// of the commands that wrote them, as far as the table shows it.
enum class RowOrder : uint8_t {
  kColumn,      // RowSelection::order_by
  kCommitTime,  // rows whose commit time is no longer known come first
  kId,          // the id column, which has an integer type: not always the order of the commits
  kXid,         // of the writing transaction: not always the order of the commits
};

// The facts that the SQL depends on besides the selection.
struct RowSource {
  const OutboxTable& table;
  const RouteConfig& route;
  const pgoutput::CachedRelation& relation;
  bool partitioned = false;
  bool commit_times = false;  // the server's track_commit_timestamp
  // Rows of transactions that have another origin are not selected. Postgres knows the origins from
  // version 14 on, with commit times only. It forgets both together: such rows are selected.
  bool own_rows_only = false;
  uint64_t next_xid = 0;  // pg_snapshot_xmax(), with its epoch: every visible xid is less
  // Since RowSelection::proven_from.
  std::vector<AttachedPartition> attached = {};
};

// The SQL for the selected rows of one table.
struct RowQuery {
  // The relation's columns, in their order; then as text the xid, and the commit time in
  // microseconds since 1970 (NULL if it is unknown).
  std::string select;
  std::string count;  // the number of rows, without the limit
  RowOrder order = RowOrder::kXid;
};

// An xid with its epoch, as int8: the greatest that is less than `next_xid` and has the 32 bits of
// the expression `xmin`.
std::string XidWithEpoch(std::string_view xmin, uint64_t next_xid);

// The condition that the transaction of the row with this `xmin` is not known to have another
// origin. REQUIRES: track_commit_timestamp, and Postgres 14.
std::string HasNoOrigin(std::string_view xmin);
// Whether a server of this version and setting shows the origin of a row.
bool ShowsOrigins(int server_version_num, bool commit_times);

// `limit`: of this table's rows; 0: none. Errors: WR-5005 for a column that the table does not
// have, and for a time range without a column or commit times to compare with. REQUIRES: texts have
// no zero byte.
absl::StatusOr<RowQuery> MakeRowQuery(const RowSelection& selection, const RowSource& source,
                                      uint64_t limit);

}  // namespace walrelay
