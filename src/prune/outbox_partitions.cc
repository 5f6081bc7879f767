#include "prune/outbox_partitions.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "base/quote.h"
#include "base/text.h"
#include "walrelay/config/outbox_table.h"
#include "walrelay/error.h"

namespace walrelay {
namespace {

constexpr std::chrono::seconds kPartitionTimeout{30};
// The timeout of the comparison of all rows of a partition, which reads the whole partition.
constexpr std::chrono::minutes kCheckTimeout{10};

// The first xid whose epoch is not 0.
constexpr uint64_t kFirstReusedXid = uint64_t{1} << 32;

// The partition key: `column` is NULL for an expression.
constexpr std::string_view kRootQuery = R"(
SELECT c.oid, a.attname AS column,
       a.atttypid OPERATOR(pg_catalog.=) ANY (ARRAY['pg_catalog.timestamptz', 'pg_catalog.timestamp',
         'pg_catalog.date']::pg_catalog.regtype[]::pg_catalog.oid[]) AS is_time,
       p.partstrat OPERATOR(pg_catalog.=) 'r' AND p.partnatts OPERATOR(pg_catalog.=) 1 AS by_range,
       pg_catalog.pg_get_userbyid(c.relowner) AS owner,
       pg_catalog.pg_has_role(c.relowner, 'USAGE') AS owned
FROM pg_catalog.pg_class c
JOIN pg_catalog.pg_namespace n ON n.oid OPERATOR(pg_catalog.=) c.relnamespace
LEFT JOIN pg_catalog.pg_partitioned_table p ON p.partrelid OPERATOR(pg_catalog.=) c.oid
LEFT JOIN pg_catalog.pg_attribute a ON a.attrelid OPERATOR(pg_catalog.=) c.oid
  AND a.attnum OPERATOR(pg_catalog.=) p.partattrs[0]
WHERE n.nspname OPERATOR(pg_catalog.=) {} AND c.relname OPERATOR(pg_catalog.=) {})";

// A bound is shown as FOR VALUES FROM ('2026-11-24 00:00:00+00') TO (MAXVALUE): times in the
// session's time zone, which is UTC; MINVALUE and MAXVALUE read as NULL.
constexpr std::string_view kPartitionsQuery = R"(
SELECT n.nspname, c.relname,
       c.relkind OPERATOR(pg_catalog.<>) 'r' OR c.relpersistence OPERATOR(pg_catalog.<>) 'p'
         AS never_dropped,
       b.bound OPERATOR(pg_catalog.=) 'DEFAULT' AS is_default, b.lower, b.upper,
       CASE WHEN pg_catalog.isfinite(b.lower::pg_catalog.timestamptz)
            THEN extract(epoch FROM b.lower::pg_catalog.timestamptz) END AS lower_epoch,
       CASE WHEN pg_catalog.isfinite(b.upper::pg_catalog.timestamptz)
            THEN extract(epoch FROM b.upper::pg_catalog.timestamptz) END AS upper_epoch
FROM pg_catalog.pg_inherits i
JOIN pg_catalog.pg_class c ON c.oid OPERATOR(pg_catalog.=) i.inhrelid
JOIN pg_catalog.pg_namespace n ON n.oid OPERATOR(pg_catalog.=) c.relnamespace
CROSS JOIN LATERAL (
  SELECT d.text AS bound,
         pg_catalog."substring"(d.text, 'FROM \(''([^'']*)''\) TO') AS lower,
         pg_catalog."substring"(d.text, 'TO \(''([^'']*)''\)$') AS upper
  FROM (SELECT pg_catalog.pg_get_expr(c.relpartbound, c.oid) AS text) d) b
WHERE i.inhparent OPERATOR(pg_catalog.=) {})";

// In the transaction that drops a partition: whether the server and the partition are those that
// were meant.
constexpr std::string_view kSameQuery = R"(
SELECT {3} AS is_server,
       EXISTS (SELECT 1 FROM pg_catalog.pg_inherits i
               JOIN pg_catalog.pg_class c ON c.oid OPERATOR(pg_catalog.=) i.inhrelid
               JOIN pg_catalog.pg_namespace n ON n.oid OPERATOR(pg_catalog.=) c.relnamespace
               WHERE i.inhparent OPERATOR(pg_catalog.=) {0}
                 AND n.nspname OPERATOR(pg_catalog.=) {1} AND c.relname OPERATOR(pg_catalog.=) {2}
                 AND c.relpersistence OPERATOR(pg_catalog.=) 'p')
         AS is_partition)";

// The first row whose xmin is outside of [{1}, {2}), or which is older than the partition as such:
// a table that is attached may bring rows that were never in the stream. A row shows the low 32
// bits of its xmin: of the xids with these bits, the last one before the next xid is meant.
constexpr std::string_view kUnprovenQuery = R"(
SELECT r.xid FROM (
  SELECT s.next OPERATOR(pg_catalog.-)
         ((s.next OPERATOR(pg_catalog.-) t.xmin::pg_catalog.text::pg_catalog.int8)
          OPERATOR(pg_catalog.&) 4294967295) AS xid,
         s.next OPERATOR(pg_catalog.-)
         ((s.next OPERATOR(pg_catalog.-) i.xmin::pg_catalog.text::pg_catalog.int8)
          OPERATOR(pg_catalog.&) 4294967295) AS attached
  FROM ONLY {0} t
  JOIN pg_catalog.pg_inherits i ON i.inhrelid OPERATOR(pg_catalog.=) t.tableoid
  CROSS JOIN (SELECT pg_catalog.pg_snapshot_xmax(pg_catalog.pg_current_snapshot())
                ::pg_catalog.text::pg_catalog.int8 AS next) s) r
WHERE r.xid OPERATOR(pg_catalog.<) {1} OR r.xid OPERATOR(pg_catalog.>=) {2}
  OR r.xid OPERATOR(pg_catalog.<=) r.attached
LIMIT 1)";

struct Root {
  int64_t oid = 0;
  std::string owner;
  bool owned = false;  // by a role that the session has
};

absl::StatusOr<Root> ReadRoot(PgConnection& connection, const OutboxTable& table, Micros timeout) {
  WR_ASSIGN_OR_RETURN(
      const PgResult row,
      connection.Query(
          fmt::format(kRootQuery, QuoteLiteral(table.schema), QuoteLiteral(table.name)), timeout));
  const std::string name =
      fmt::format("{}.{}", Printable(table.schema, 63), Printable(table.name, 63));
  if (row.rows() == 0) {
    return Error(ErrorCode::kTableMissing, name);
  }
  if (!row.Bool(0, "by_range") || !row.Bool(0, "is_time")) {
    return Error(ErrorCode::kNotPartitionedByTime, name);
  }
  return Root{.oid = row.Int(0, "oid"),
              .owner = std::string(row.Text(0, "owner")),
              .owned = row.Bool(0, "owned")};
}

// `open`: the meaning of no value.
WallTime BoundOf(const PgResult& row, int index, const char* text, const char* epoch,
                 WallTime open) {
  if (const auto seconds = row.Seconds(index, epoch)) {
    return WallTime(*seconds);
  }
  const std::string_view value = row.Text(index, text);
  return value == "infinity" ? WallTime::max() : value == "-infinity" ? WallTime::min() : open;
}

absl::StatusOr<std::vector<OutboxPartition>> PartitionsOf(PgConnection& connection,
                                                          const Root& root, Micros timeout) {
  WR_ASSIGN_OR_RETURN(const PgResult rows,
                      connection.Query(fmt::format(kPartitionsQuery, root.oid), timeout));
  std::vector<OutboxPartition> partitions;
  for (int row = 0; row < rows.rows(); ++row) {
    partitions.push_back(
        {.schema = std::string(rows.Text(row, "nspname")),
         .name = std::string(rows.Text(row, "relname")),
         .bounds = {.from = BoundOf(rows, row, "lower", "lower_epoch", WallTime::min()),
                    .to = BoundOf(rows, row, "upper", "upper_epoch", WallTime::max())},
         .is_default = rows.Bool(row, "is_default"),
         .never_dropped = rows.Bool(row, "never_dropped")});
  }
  std::sort(partitions.begin(), partitions.end(),
            [](const auto& a, const auto& b) { return a.bounds.from < b.bounds.from; });
  return partitions;
}

// Errors that are about one partition, and may be gone at the next attempt.
std::optional<std::string_view> ReasonOf(std::string_view sqlstate) {
  // Source: Postgres documentation, appendix "PostgreSQL Error Codes".
  constexpr std::pair<std::string_view, std::string_view> kReasons[] = {
      {"55P03", "another session holds a lock"},                   // lock_not_available
      {"40P01", "another session holds a lock"},                   // deadlock_detected
      {"57014", "the server cancelled the statement"},             // query_canceled
      {"23514", "the DEFAULT partition has rows of this period"},  // check_violation
      {"42P07", "a table of this name exists"},                    // duplicate_table
      {"42P17", "the bounds do not fit the table"},                // invalid_object_definition
      {"2BP01", "another object depends on it"}};                  // dependent_objects_...
  const auto* found = std::find_if(std::begin(kReasons), std::end(kReasons),
                                   [&](const auto& reason) { return reason.first == sqlstate; });
  return found == std::end(kReasons) ? std::nullopt : std::optional(found->second);
}

// The text of an error that is a problem of one partition, or the error.
absl::StatusOr<std::string> ProblemOf(const absl::Status& error, std::string_view sqlstate) {
  const auto reason = ReasonOf(sqlstate);
  return reason ? absl::StatusOr<std::string>(fmt::format("{}: {}", *reason, MessageOf(error)))
                : error;
}

// One transaction. Rolled back unless Commit() succeeds; after an error that leaves no usable
// connection, the server does so.
class Transaction {
 public:
  explicit Transaction(PgConnection& connection) : connection_(connection) {}
  Transaction(const Transaction&) = delete;
  Transaction& operator=(const Transaction&) = delete;
  ~Transaction() {
    if (open_) {
      connection_.Query("ROLLBACK", kPartitionTimeout).IgnoreError();
    }
  }

  absl::Status Begin() {
    WR_RETURN_IF_ERROR(Run("BEGIN"));
    open_ = true;
    return Run(
        fmt::format("SET LOCAL lock_timeout = {}; SET LOCAL statement_timeout = {}",
                    std::chrono::duration_cast<std::chrono::milliseconds>(kRootLockTimeout).count(),
                    std::chrono::milliseconds(kCheckTimeout).count()));
  }
  absl::StatusOr<PgResult> Query(const std::string& sql) {
    auto result = connection_.Query(sql, kCheckTimeout + kPartitionTimeout);
    if (!result.ok() && sqlstate_.empty()) {
      sqlstate_ = connection_.last_sqlstate();
    }
    return result;
  }
  absl::Status Run(const std::string& sql) { return Query(sql).status(); }
  absl::Status Commit() {
    open_ = false;
    return Run("COMMIT");
  }
  // The SQLSTATE of the first error that the server returned; "": it returned none.
  const std::string& sqlstate() const { return sqlstate_; }

 private:
  PgConnection& connection_;
  bool open_ = false;
  std::string sqlstate_;
};

class Maintenance {
 public:
  Maintenance(PgConnection& connection, const OutboxTable& table, const PartitionPolicy& policy,
              PruneAction action, Root root)
      : connection_(connection),
        table_(table),
        policy_(policy),
        applies_(action == PruneAction::kApply),
        root_(std::move(root)),
        root_name_(QuoteQualified(table.schema, table.name)) {}

  absl::Status Create(const PartitionBounds& bounds) {
    const std::string name = PartitionName(table_.name, policy_.period, bounds.from);
    Transaction transaction(connection_);
    const absl::Status status = applies_ ? CreateIn(transaction, name, bounds) : absl::OkStatus();
    if (status.ok()) {
      changes_.created.push_back(name);
      return absl::OkStatus();
    }
    return Note(name, ProblemOf(status, transaction.sqlstate()));
  }

  absl::Status Drop(const OutboxPartition& partition, const PruneProof& proof) {
    // Reads the partition without a lock first: one that may not be dropped is never locked.
    auto problem = FindUnproven(partition, proof);
    if (applies_ && problem.ok() && problem->empty()) {
      Transaction transaction(connection_);
      problem = DropIn(transaction, partition, proof);
      if (!problem.ok()) {
        problem = ProblemOf(problem.status(), transaction.sqlstate());
      }
    }
    if (problem.ok() && problem->empty()) {
      changes_.dropped.push_back(partition.name);
      return absl::OkStatus();
    }
    return Note(partition.name, std::move(problem));
  }

  void Keep(const OutboxPartition& partition, std::string_view reason) {
    changes_.problems.push_back({partition.name, std::string(reason)});
  }
  PartitionChanges Finish() && { return std::move(changes_); }

 private:
  absl::Status Note(const std::string& partition, absl::StatusOr<std::string> problem) {
    if (!problem.ok()) {
      return Annotate(problem.status(), fmt::format("partition {}", Printable(partition, 63)));
    }
    changes_.problems.push_back({partition, *std::move(problem)});
    return absl::OkStatus();
  }

  // Not CREATE TABLE ... PARTITION OF, which locks the whole table exclusively. ATTACH PARTITION
  // creates the indexes and keeps identity columns those of the root.
  absl::Status CreateIn(Transaction& transaction, const std::string& name,
                        const PartitionBounds& bounds) const {
    const std::string partition = QuoteQualified(table_.schema, name);
    WR_RETURN_IF_ERROR(transaction.Begin());
    WR_RETURN_IF_ERROR(transaction.Run(
        fmt::format("CREATE TABLE {} (LIKE {} INCLUDING ALL EXCLUDING IDENTITY EXCLUDING INDEXES "
                    "EXCLUDING STATISTICS)",
                    partition, root_name_)));
    WR_RETURN_IF_ERROR(transaction.Run(
        fmt::format("ALTER TABLE {} OWNER TO {}", partition, QuoteIdentifier(root_.owner))));
    WR_RETURN_IF_ERROR(transaction.Run(fmt::format(
        "ALTER TABLE {} ATTACH PARTITION {} FOR VALUES FROM ({}) TO ({})", root_name_, partition,
        QuoteLiteral(Rfc3339(bounds.from)), QuoteLiteral(Rfc3339(bounds.to)))));
    return transaction.Commit();
  }

  // Why the partition may not be dropped; "": every row is proven to be published.
  absl::StatusOr<std::string> FindUnproven(const OutboxPartition& partition,
                                           const PruneProof& proof) const {
    const PublishedXids& xids = proof.xids;
    // Older rows have the same low 32 bits as rows that are proven. Rows of this partition are
    // younger than the first proven xid, as far as the time column says when a row was inserted.
    if (xids.before >= kFirstReusedXid &&
        partition.bounds.from < xids.from.taken + PublishedXids::kFurthestZone) {
      return fmt::format(
          "its rows may be older than {}, when the proof begins, and the server has reused "
          "transaction ids since",
          Rfc3339(xids.from.taken));
    }
    WR_ASSIGN_OR_RETURN(
        const PgResult row,
        connection_.Query(
            fmt::format(kUnprovenQuery, QuoteQualified(partition.schema, partition.name),
                        xids.from.xid, xids.before),
            kCheckTimeout));
    if (row.rows() == 0) {
      return "";
    }
    return fmt::format("transaction {} wrote a row that is not proven to be published",
                       row.Int(0, "xid"));
  }

  // SHARE excludes writers, and prepared transactions that have written.
  absl::StatusOr<std::string> DropIn(Transaction& transaction, const OutboxPartition& partition,
                                     const PruneProof& proof) const {
    const std::string name = QuoteQualified(partition.schema, partition.name);
    WR_RETURN_IF_ERROR(transaction.Begin());
    WR_RETURN_IF_ERROR(transaction.Run(fmt::format("LOCK TABLE ONLY {} IN SHARE MODE", name)));
    WR_ASSIGN_OR_RETURN(
        const PgResult same,
        transaction.Query(fmt::format(kSameQuery, root_.oid, QuoteLiteral(partition.schema),
                                      QuoteLiteral(partition.name), IsServerOf(proof))));
    if (!same.Bool(0, "is_partition")) {
      return "it is no longer a partition of the table, or unlogged";
    }
    if (!same.Bool(0, "is_server")) {
      return "the server has another timeline than the proof, or the relay has disconnected";
    }
    WR_ASSIGN_OR_RETURN(std::string problem, FindUnproven(partition, proof));
    if (!problem.empty()) {
      return problem;
    }
    WR_RETURN_IF_ERROR(transaction.Run(fmt::format("DROP TABLE {}", name)));
    WR_RETURN_IF_ERROR(transaction.Commit());
    return "";
  }

  PgConnection& connection_;
  const OutboxTable& table_;
  const PartitionPolicy& policy_;
  const bool applies_;
  const Root root_;
  const std::string root_name_;
  PartitionChanges changes_;
};

}  // namespace

absl::StatusOr<std::vector<OutboxPartition>> ReadPartitions(PgConnection& connection,
                                                            const OutboxTable& table,
                                                            Micros timeout) {
  WR_ASSIGN_OR_RETURN(const Root root, ReadRoot(connection, table, timeout));
  return PartitionsOf(connection, root, timeout);
}

absl::Status CheckPartitionOwner(PgConnection& connection, const OutboxTable& table,
                                 Micros timeout) {
  WR_ASSIGN_OR_RETURN(const Root root, ReadRoot(connection, table, timeout));
  return root.owned ? absl::OkStatus()
                    : Error(ErrorCode::kPruneDenied,
                            fmt::format("role {} does not own table {}.{}",
                                        Printable(connection.user(), 63),
                                        Printable(table.schema, 63), Printable(table.name, 63)));
}

absl::StatusOr<bool> HasRows(PgConnection& connection, const OutboxPartition& partition,
                             Micros timeout) {
  WR_ASSIGN_OR_RETURN(
      const PgResult row,
      connection.Query(fmt::format("SELECT EXISTS (SELECT 1 FROM ONLY {}) AS rows",
                                   QuoteQualified(partition.schema, partition.name)),
                       timeout));
  return row.Bool(0, "rows");
}

absl::StatusOr<PartitionChanges> MaintainPartitions(PgConnection& connection,
                                                    const OutboxTable& table,
                                                    const std::optional<PruneProof>& proof,
                                                    const PartitionPolicy& policy,
                                                    PruneAction action, WallTime now) {
  WR_ASSIGN_OR_RETURN(Root root, ReadRoot(connection, table, kPartitionTimeout));
  WR_ASSIGN_OR_RETURN(const std::vector<OutboxPartition> existing,
                      PartitionsOf(connection, root, kPartitionTimeout));
  Maintenance maintenance(connection, table, policy, action, std::move(root));
  for (const PartitionBounds& bounds :
       MissingPartitions(policy.period, policy.ahead, existing, now)) {
    WR_RETURN_IF_ERROR(maintenance.Create(bounds));
  }
  for (const OutboxPartition& partition : existing) {
    if (!policy.keep || !IsOlderThan(partition, *policy.keep, now)) {
      continue;
    }
    if (proof) {
      WR_RETURN_IF_ERROR(maintenance.Drop(partition, *proof));
    } else {
      maintenance.Keep(partition, "nothing is proven to be published");
    }
  }
  return std::move(maintenance).Finish();
}

}  // namespace walrelay
