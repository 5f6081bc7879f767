#include "postgres/catalog_queries.h"

#include <fmt/format.h>

#include <charconv>
#include <sstream>

#include "base/check.h"
#include "base/quote.h"
#include "walrelay/config/source.h"
#include "walrelay/error.h"

namespace walrelay {
namespace {

// pg_replication_slots.inactive_since.
constexpr int kInactiveSinceVersion = 170000;
constexpr std::string_view kInactiveEpoch =
    ", extract(epoch FROM s.inactive_since) AS inactive_epoch";

constexpr uint32_t kFirstTimeline = 1;  // has no history file

absl::StatusOr<std::vector<TimelineEnd>> ReadAncestors(PgConnection& connection, uint32_t timeline,
                                                       Micros timeout) {
  if (timeline <= kFirstTimeline) {
    return std::vector<TimelineEnd>();
  }
  const auto history = connection.Query(fmt::format("TIMELINE_HISTORY {}", timeline), timeout);
  if (!history.ok() && HasCode(history.status(), ErrorCode::kPostgresError)) {
    // The file does not exist. Callers that need it report an error.
    return std::vector<TimelineEnd>();
  }
  WR_RETURN_IF_ERROR(history.status());
  return history->rows() == 1 ? ParseTimelineHistory(history->Text(0, "content"))
                              : std::vector<TimelineEnd>();
}

}  // namespace

// insufficient_privilege is an answer: everything else works without the identifier.
absl::StatusOr<std::string> ReadSystemId(PgConnection& connection, Micros timeout) {
  const auto row =
      connection.Query("SELECT c.system_identifier FROM pg_catalog.pg_control_system() c", timeout);
  if (!row.ok()) {
    return connection.last_sqlstate() == "42501" ? absl::StatusOr<std::string>("") : row.status();
  }
  return std::string(row->Text(0, "system_identifier"));
}

// Lines of "timeline, position, reason"; comments and empty lines do not parse, and are ignored.
// Source: timeline.c, readTimeLineHistory.
std::vector<TimelineEnd> ParseTimelineHistory(std::string_view text) {
  std::vector<TimelineEnd> ends;
  std::istringstream lines{std::string(text)};
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string timeline;
    std::string position;
    words >> timeline >> position;
    TimelineEnd ended;
    const char* const last = timeline.data() + timeline.size();
    const auto [stop, error] = std::from_chars(timeline.data(), last, ended.timeline);
    const std::optional<Lsn> end = Lsn::Parse(position);
    if (error == std::errc() && stop == last && end) {
      ended.end = *end;
      ends.push_back(ended);
    }
  }
  return ends;
}

absl::Status ReadIdentity(PgConnection& connection, Micros timeout, ServerInfo& info) {
  // A command of the replication protocol: an ordinary server process, such as that of a pooler,
  // rejects it.
  WR_ASSIGN_OR_RETURN(const PgResult system, connection.Query("IDENTIFY_SYSTEM", timeout));
  if (system.rows() != 1) {
    return Error(ErrorCode::kNotReplication, "IDENTIFY_SYSTEM returned no row");
  }
  info.system_id = std::string(system.Text(0, "systemid"));
  info.timeline = static_cast<uint32_t>(system.Int(0, "timeline"));
  info.wal_end = system.Position(0, "xlogpos");
  info.database = std::string(system.Text(0, "dbname"));
  info.backend_pid = PQbackendPID(connection.get());
  const char* host = PQhost(connection.get());  // Unix socket: its directory or abstract name
  info.by_network = host != nullptr && host[0] != '/' && host[0] != '@';
  return absl::OkStatus();
}

absl::StatusOr<ServerInfo> ReadServerInfo(PgConnection& connection, Micros timeout) {
  ServerInfo info;
  WR_RETURN_IF_ERROR(ReadIdentity(connection, timeout, info));
  WR_ASSIGN_OR_RETURN(
      const PgResult settings,
      connection.Query("SELECT pg_catalog.pg_is_in_recovery() AS in_recovery,"
                       " pg_catalog.current_setting('server_version_num') AS version,"
                       " (SELECT s.setting FROM pg_catalog.pg_settings s"
                       "  WHERE s.name OPERATOR(pg_catalog.=) 'wal_sender_timeout')"
                       " AS wal_sender_timeout,"
                       " (SELECT d.oid FROM pg_catalog.pg_database d"
                       "  WHERE d.datname OPERATOR(pg_catalog.=) pg_catalog.current_database())"
                       " AS database_oid,"
                       " pg_catalog.pg_snapshot_xmax(pg_catalog.pg_current_snapshot()) AS next_xid,"
                       " extract(epoch FROM pg_catalog.clock_timestamp()) AS now,"
                       " extract(epoch FROM pg_catalog.pg_postmaster_start_time()) AS started,"
                       " (SELECT extract(epoch FROM a.backend_start)"
                       "  FROM pg_catalog.pg_stat_activity a"
                       "  WHERE a.pid OPERATOR(pg_catalog.=) pg_catalog.pg_backend_pid())"
                       " AS backend_started",
                       timeout));
  if (settings.rows() != 1) {
    return Error(ErrorCode::kNotReplication, "the query for settings returned no row");
  }
  WR_ASSIGN_OR_RETURN(info.ancestors, ReadAncestors(connection, info.timeline, timeout));
  info.version = static_cast<int>(settings.Int(0, "version"));
  info.in_recovery = settings.Bool(0, "in_recovery");
  info.database_oid = static_cast<uint32_t>(settings.Int(0, "database_oid"));
  info.next_xid = static_cast<uint64_t>(settings.Int(0, "next_xid"));
  info.wal_sender_timeout = std::chrono::milliseconds(settings.Int(0, "wal_sender_timeout"));
  info.now = WallTime(settings.Seconds(0, "now").value_or(Micros(0)));
  info.started = WallTime(settings.Seconds(0, "started").value_or(Micros(0)));
  info.backend_started = WallTime(settings.Seconds(0, "backend_started").value_or(Micros(0)));
  return info;
}

std::string SlotQuery(std::string_view slot, int server_version, std::string_view columns,
                      std::string_view joins) {
  // A column that is used in an expression is named only if the version has it.
  return fmt::format(
      "SELECT s.*{}{}, extract(epoch FROM a.backend_start) AS reader_started "
      "FROM pg_catalog.pg_replication_slots s LEFT JOIN pg_catalog.pg_stat_activity a "
      "ON a.pid OPERATOR(pg_catalog.=) s.active_pid{} "
      "WHERE s.slot_name OPERATOR(pg_catalog.=) {}",
      server_version >= kInactiveSinceVersion ? kInactiveEpoch : "", columns, joins,
      QuoteLiteral(slot));
}

SlotInfo SlotInfoOf(const PgResult& row) {
  SlotInfo out{.plugin = std::string(row.Text(0, "plugin")),
               .database = std::string(row.Text(0, "database")),
               .logical = row.Text(0, "slot_type") == "logical",
               .temporary = row.Bool(0, "temporary"),
               .active = row.Bool(0, "active"),
               .active_pid = static_cast<int>(row.Int(0, "active_pid")),
               .restart_lsn = row.Position(0, "restart_lsn"),
               .confirmed_flush_lsn = row.Position(0, "confirmed_flush_lsn"),
               .wal_status = std::string(row.Text(0, "wal_status")),
               .invalidation_reason = std::string(row.Text(0, "invalidation_reason")),
               .synced = row.Bool(0, "synced"),
               .failover = row.Bool(0, "failover")};
  if (row.Get(0, "safe_wal_size")) {
    out.safe_wal_size = row.Int(0, "safe_wal_size");
  }
  if (const auto started = row.Seconds(0, "reader_started")) {
    out.reader_started = WallTime(*started);
  }
  if (const auto since = row.Seconds(0, "inactive_epoch")) {
    out.inactive_since = WallTime(*since);
  }
  return out;
}

absl::StatusOr<std::optional<SlotInfo>> ReadSlotInfo(PgConnection& connection,
                                                     std::string_view slot, Micros timeout) {
  WR_ASSIGN_OR_RETURN(const PgResult row,
                      connection.Query(SlotQuery(slot, connection.server_version_num()), timeout));
  return row.rows() == 0 ? std::nullopt : std::optional(SlotInfoOf(row));
}

absl::StatusOr<PublicationInfo> ReadPublicationInfo(PgConnection& connection,
                                                    std::string_view publication, Micros timeout) {
  WR_ASSIGN_OR_RETURN(const PgResult row,
                      connection.Query(fmt::format("SELECT * FROM pg_catalog.pg_publication "
                                                   "WHERE pubname OPERATOR(pg_catalog.=) {}",
                                                   QuoteLiteral(publication)),
                                       timeout));
  if (row.rows() == 0) {
    return PublicationInfo();
  }
  return PublicationInfo{.exists = true,
                         .publishes_insert = row.Bool(0, "pubinsert"),
                         .publishes_more = row.Bool(0, "pubupdate") || row.Bool(0, "pubdelete") ||
                                           row.Bool(0, "pubtruncate"),
                         .via_partition_root = row.Bool(0, "pubviaroot")};
}

absl::StatusOr<std::vector<AttachedPartition>> ReadAttached(PgConnection& connection, uint32_t oid,
                                                            uint64_t since, uint64_t next_xid,
                                                            Micros timeout) {
  const std::string query = fmt::format(
      "SELECT p.relid::pg_catalog.oid AS oid, pg_catalog.max({}) AS xid "
      "FROM pg_catalog.pg_partition_tree({}) p, "
      "LATERAL pg_catalog.pg_partition_ancestors(p.relid) a "
      "JOIN pg_catalog.pg_inherits i "
      "ON i.inhrelid OPERATOR(pg_catalog.=) a.relid::pg_catalog.oid "
      "WHERE p.isleaf GROUP BY 1 HAVING pg_catalog.max({}) OPERATOR(pg_catalog.>=) "
      "{}::pg_catalog.int8",
      XidWithEpoch("i.xmin", next_xid), oid, XidWithEpoch("i.xmin", next_xid), since);
  WR_ASSIGN_OR_RETURN(const PgResult rows, connection.Query(query, timeout));
  std::vector<AttachedPartition> attached;
  for (int row = 0; row < rows.rows(); ++row) {
    attached.push_back({.oid = static_cast<uint32_t>(rows.Int(row, "oid")),
                        .xid = static_cast<uint64_t>(rows.Int(row, "xid"))});
  }
  return attached;
}

absl::Status CheckMessages(const SourceConfig& source, int server_version) {
  // Option "messages" of pgoutput. Older versions reject the option.
  constexpr int kFirstWithMessages = 140000;
  return source.message_prefixes.empty() || server_version >= kFirstWithMessages
             ? absl::OkStatus()
             : Error(ErrorCode::kConfigValue,
                     fmt::format(
                         "source.message_prefixes requires Postgres version 14 or later; this "
                         "server is version {}",
                         server_version / 10000));
}

// With missing_ok: NULL, which reads as "", for a setting that the version does not have.
absl::StatusOr<std::string> ReadSetting(PgConnection& connection, std::string_view name,
                                        Micros timeout) {
  WR_ASSIGN_OR_RETURN(
      const PgResult row,
      connection.Query(
          fmt::format("SELECT pg_catalog.current_setting({}, true) AS value", QuoteLiteral(name)),
          timeout));
  return std::string(row.Text(0, "value"));
}

}  // namespace walrelay
