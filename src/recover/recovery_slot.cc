#include "recover/recovery_slot.h"

#include <fmt/format.h>

#include "base/quote.h"
#include "postgres/catalog_queries.h"
#include "postgres/session.h"
#include "postgres/slot_error.h"
#include "walrelay/config/source.h"
#include "walrelay/error.h"

namespace walrelay {
namespace {

// pg_replication_slots.failover.
constexpr int kFailoverVersion = 170000;

// Sets what only a transaction with the snapshot can tell. A server other than that of the slot
// does not know the snapshot.
absl::Status ReadSnapshot(const SourceConfig& source, size_t host, NewSlot& slot) {
  WR_ASSIGN_OR_RETURN(OpenedSession session,
                      OpenSession(source, {.purpose = ConnectionPurpose::kSql, .host = host}));
  PgConnection& connection = session.connection;
  const Micros timeout = source.connect_timeout;
  WR_RETURN_IF_ERROR(
      connection.Query("BEGIN ISOLATION LEVEL REPEATABLE READ, READ ONLY", timeout).status());
  WR_RETURN_IF_ERROR(
      connection
          .Query(fmt::format("SET TRANSACTION SNAPSHOT {}", QuoteLiteral(slot.snapshot)), timeout)
          .status());
  WR_ASSIGN_OR_RETURN(
      const PgResult row,
      connection.Query("SELECT pg_catalog.pg_snapshot_xmin(pg_catalog.pg_current_snapshot()) AS "
                       "xmin, pg_catalog.pg_snapshot_xmax(pg_catalog.pg_current_snapshot()) AS "
                       "xmax, extract(epoch FROM pg_catalog.clock_timestamp()) AS taken",
                       timeout));
  slot.xmin = static_cast<uint64_t>(row.Int(0, "xmin"));
  slot.xmax = static_cast<uint64_t>(row.Int(0, "xmax"));
  slot.taken = WallTime(row.Seconds(0, "taken").value_or(Micros(0)));
  return absl::OkStatus();
}

// On a replication connection.
absl::Status AlterToFailover(PgConnection& connection, const SourceConfig& source) {
  return connection
      .Query(fmt::format("ALTER_REPLICATION_SLOT {} (FAILOVER)", source.slot),
             source.connect_timeout)
      .status();
}

}  // namespace

bool HasFailover(int server_version) {
  return server_version >= kFailoverVersion;
}

absl::Status RecoverySlot::EnableFailover(const SourceConfig& source) {
  WR_ASSIGN_OR_RETURN(OpenedSession session,
                      OpenSession(source, {.purpose = ConnectionPurpose::kReplication}));
  const absl::Status altered = AlterToFailover(session.connection, source);
  return altered.ok()
             ? altered
             : WithCauseAtSlot(session.connection, source.slot, altered, source.connect_timeout);
}

absl::StatusOr<RecoverySlot> RecoverySlot::Create(const SourceConfig& source) {
  WR_ASSIGN_OR_RETURN(OpenedSession session,
                      OpenSession(source, {.purpose = ConnectionPurpose::kReplication}));
  PgConnection& connection = session.connection;
  ServerInfo server;
  WR_RETURN_IF_ERROR(ReadIdentity(connection, source.connect_timeout, server));
  const std::string name = RecoverySlotOf(source.slot);
  const auto created = connection.Query(
      fmt::format("CREATE_REPLICATION_SLOT {} TEMPORARY LOGICAL pgoutput EXPORT_SNAPSHOT", name),
      kOpenTimeout);
  if (!created.ok() && connection.last_sqlstate() == "42710") {  // duplicate_object
    return Error(ErrorCode::kSlotBusy,
                 fmt::format("slot {} exists: another walrelay recover is replacing slot {}", name,
                             source.slot),
                 "Wait until it has ended.");
  }
  if (!created.ok()) {
    return WithCauseAtSlot(connection, name, created.status(), source.connect_timeout);
  }
  NewSlot slot{.position = created->Position(0, "consistent_point"),
               .snapshot = std::string(created->Text(0, "snapshot_name")),
               .system_id = server.system_id,
               .timeline = server.timeline};
  WR_RETURN_IF_ERROR(ReadSnapshot(source, session.host, slot));
  return RecoverySlot(std::move(connection), source, std::move(slot));
}

absl::Status RecoverySlot::Replace(bool failover) {
  const Micros timeout = source_.connect_timeout;
  WR_ASSIGN_OR_RETURN(const auto old, ReadSlotInfo(connection_, source_.slot, timeout));
  if (old) {
    // Without WAIT: a process that reads the slot by now is a reason to stop.
    WR_RETURN_IF_ERROR(
        connection_.Query(fmt::format("DROP_REPLICATION_SLOT {}", source_.slot), timeout).status());
  }
  WR_RETURN_IF_ERROR(
      connection_
          .Query(
              fmt::format("SELECT pg_catalog.pg_copy_logical_replication_slot({}, {}, false)",
                          QuoteLiteral(RecoverySlotOf(source_.slot)), QuoteLiteral(source_.slot)),
              kOpenTimeout)
          .status());
  // Not a property that is copied.
  return failover && HasFailover(connection_.server_version_num())
             ? AlterToFailover(connection_, source_)
             : absl::OkStatus();
}

}  // namespace walrelay
