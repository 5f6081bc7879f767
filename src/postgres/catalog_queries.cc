#include "postgres/catalog_queries.h"

#include <fmt/format.h>

#include <charconv>
#include <sstream>

#include "base/check.h"
#include "postgres/quote.h"
#include "walrelay/error.h"

namespace walrelay {
namespace {

// pg_replication_slots.inactive_since.
constexpr int kInactiveSinceVersion = 170000;
constexpr std::string_view kInactiveEpoch =
    ", extract(epoch FROM s.inactive_since) AS inactive_epoch";

// pg_publication_tables has row filters (PG 15+), one row per table or leaf partition; on older
// servers the columns do not exist and read as NULL. A table is published if the publication lists
// the table or its schema (PG 15+), or is FOR ALL TABLES.
constexpr std::string_view kTableInfoQuery = R"(
SELECT c.oid, c.relpersistence, c.relkind,
       p.puballtables
       OR EXISTS (SELECT 1 FROM pg_catalog.pg_publication_rel r
                  WHERE r.prpubid OPERATOR(pg_catalog.=) p.oid
                    AND r.prrelid OPERATOR(pg_catalog.=) c.oid)
       OR EXISTS (SELECT 1 FROM pg_catalog.pg_publication_tables t
                  WHERE t.pubname OPERATOR(pg_catalog.=) p.pubname
                    AND t.schemaname OPERATOR(pg_catalog.=) n.nspname
                    AND t.tablename OPERATOR(pg_catalog.=) c.relname)
         AS published
FROM pg_catalog.pg_class c
JOIN pg_catalog.pg_namespace n ON n.oid OPERATOR(pg_catalog.=) c.relnamespace
LEFT JOIN pg_catalog.pg_publication p ON p.pubname OPERATOR(pg_catalog.=) {0}
WHERE n.nspname OPERATOR(pg_catalog.=) {1} AND c.relname OPERATOR(pg_catalog.=) {2}
  AND c.relkind OPERATOR(pg_catalog.=) ANY (ARRAY['r', 'p']::pg_catalog."char"[]))";

// `t.*`: rowfilter and attnames exist from version 15 on. attnames lists all published columns,
// also without a column list, so its length is compared with the number of columns that can be
// published.
constexpr std::string_view kFilterQuery = R"(
SELECT t.*,
       (SELECT pg_catalog.count(*) FROM pg_catalog.pg_attribute a
        WHERE a.attrelid OPERATOR(pg_catalog.=) {3} AND a.attnum OPERATOR(pg_catalog.>) 0
          AND NOT a.attisdropped AND a.attgenerated OPERATOR(pg_catalog.=) '')
         AS all_columns
FROM pg_catalog.pg_publication_tables t
WHERE t.pubname OPERATOR(pg_catalog.=) {0} AND t.schemaname OPERATOR(pg_catalog.=) {1}
  AND t.tablename OPERATOR(pg_catalog.=) {2})";

// The number of elements of an array such as "{a,b}"; 0 for NULL.
int64_t ArrayLength(std::optional<std::string_view> array) {
  if (!array || *array == "{}") {
    return 0;
  }
  int64_t elements = 1;
  bool quoted = false;
  for (size_t i = 0; i < array->size(); ++i) {
    if ((*array)[i] == '\\') {
      ++i;
    } else if ((*array)[i] == '"') {
      quoted = !quoted;
    } else if ((*array)[i] == ',' && !quoted) {
      ++elements;
    }
  }
  return elements;
}

// One row per column, or one row per label for a column of an enum type.
// The expression of a generated column is not a default: pg_attrdef holds both. Labels come in
// their own order (enumsortorder), which is not that of their OIDs. The stream shows neither the
// name of a type nor what a domain declares.
constexpr std::string_view kColumnQuery = R"(
SELECT a.attname, a.attnotnull AS not_null, e.enumlabel,
       CASE WHEN b.typcategory OPERATOR(pg_catalog.=) ANY (ARRAY['A', 'E']::pg_catalog."char"[])
            THEN '' ELSE b.typname END AS type_name,
       t.typtype OPERATOR(pg_catalog.=) 'd' AS is_domain, t.typtypmod,
       CASE WHEN a.attgenerated OPERATOR(pg_catalog.=) ''
            THEN pg_catalog.pg_get_expr(d.adbin, d.adrelid) END AS expression
FROM pg_catalog.pg_attribute a
JOIN pg_catalog.pg_type t ON t.oid OPERATOR(pg_catalog.=) a.atttypid
JOIN pg_catalog.pg_type b ON b.oid OPERATOR(pg_catalog.=)
  CASE WHEN t.typtype OPERATOR(pg_catalog.=) 'd' THEN t.typbasetype ELSE t.oid END
LEFT JOIN pg_catalog.pg_attrdef d
  ON d.adrelid OPERATOR(pg_catalog.=) a.attrelid AND d.adnum OPERATOR(pg_catalog.=) a.attnum
LEFT JOIN pg_catalog.pg_enum e ON e.enumtypid OPERATOR(pg_catalog.=) a.atttypid
WHERE a.attrelid OPERATOR(pg_catalog.=) {} AND a.attnum OPERATOR(pg_catalog.>) 0
  AND NOT a.attisdropped
ORDER BY a.attnum, e.enumsortorder)";

absl::StatusOr<std::vector<ColumnInfo>> ReadColumns(PgConnection& connection, uint32_t table,
                                                    Micros timeout) {
  WR_ASSIGN_OR_RETURN(const PgResult rows,
                      connection.Query(fmt::format(kColumnQuery, table), timeout));
  std::vector<ColumnInfo> columns;
  for (int row = 0; row < rows.rows(); ++row) {
    const std::string_view name = rows.Text(row, "attname");
    if (columns.empty() || columns.back().name != name) {
      columns.push_back({.name = std::string(name),
                         .not_null = rows.Bool(row, "not_null"),
                         .default_expression = std::string(rows.Text(row, "expression")),
                         .type_name = std::string(rows.Text(row, "type_name")),
                         .is_domain = rows.Bool(row, "is_domain"),
                         .domain_modifier = static_cast<int32_t>(rows.Int(row, "typtypmod"))});
    }
    if (const auto label = rows.Get(row, "enumlabel")) {
      columns.back().enum_labels.emplace_back(*label);
    }
  }
  return columns;
}

absl::StatusOr<TableInfo> ReadTable(PgConnection& connection, std::string_view publication,
                                    const OutboxTable& table, Micros timeout) {
  TableInfo info{.schema = table.schema, .name = table.name};
  const std::string publication_name = QuoteLiteral(publication);
  const std::string schema = QuoteLiteral(table.schema);
  const std::string name = QuoteLiteral(table.name);
  WR_ASSIGN_OR_RETURN(
      const PgResult found,
      connection.Query(fmt::format(kTableInfoQuery, publication_name, schema, name), timeout));
  // No such table, or neither a table nor a partitioned table: oid stays 0.
  if (found.rows() == 0) {
    return info;
  }
  info.oid = static_cast<uint32_t>(found.Int(0, "oid"));
  // Unlogged tables write no WAL: their rows never reach a slot.
  info.unlogged = found.Text(0, "relpersistence") == "u";
  info.partitioned = found.Text(0, "relkind") == "p";
  info.published = found.Bool(0, "published");
  WR_ASSIGN_OR_RETURN(
      const PgResult shown,
      connection.Query(fmt::format(kFilterQuery, publication_name, schema, name, info.oid),
                       timeout));
  // A publication has no row here for a table that it does not publish.
  if (shown.rows() > 0) {
    info.row_filter = shown.Get(0, "rowfilter").has_value();
    const int64_t columns = ArrayLength(shown.Get(0, "attnames"));
    info.column_list = columns > 0 && columns < shown.Int(0, "all_columns");
  }
  WR_ASSIGN_OR_RETURN(info.columns, ReadColumns(connection, info.oid, timeout));
  return info;
}

// What a Relation message of protocol version 1 contains. A domain is replaced by its base type, as
// the relation cache does; generated columns are not sent.
constexpr std::string_view kRelationQuery = R"(
SELECT a.attname, a.atttypmod,
       CASE WHEN t.typtype OPERATOR(pg_catalog.=) 'd' THEN t.typbasetype ELSE a.atttypid END AS type
FROM pg_catalog.pg_attribute a
JOIN pg_catalog.pg_type t ON t.oid OPERATOR(pg_catalog.=) a.atttypid
WHERE a.attrelid OPERATOR(pg_catalog.=) {} AND a.attnum OPERATOR(pg_catalog.>) 0
  AND NOT a.attisdropped AND a.attgenerated OPERATOR(pg_catalog.=) ''
ORDER BY a.attnum)";

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
                       " AS database_oid",
                       timeout));
  if (settings.rows() != 1) {
    return Error(ErrorCode::kNotReplication, "the query for settings returned no row");
  }
  WR_ASSIGN_OR_RETURN(info.ancestors, ReadAncestors(connection, info.timeline, timeout));
  info.version = static_cast<int>(settings.Int(0, "version"));
  info.in_recovery = settings.Bool(0, "in_recovery");
  info.database_oid = static_cast<uint32_t>(settings.Int(0, "database_oid"));
  info.wal_sender_timeout = std::chrono::milliseconds(settings.Int(0, "wal_sender_timeout"));
  return info;
}

std::string SlotQuery(std::string_view slot, int server_version, std::string_view columns,
                      std::string_view joins) {
  // A column that is used in an expression is named only if the version has it.
  return fmt::format(
      "SELECT s.*{}{} FROM pg_catalog.pg_replication_slots s{} "
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

absl::StatusOr<std::vector<TableInfo>> ReadTableInfo(PgConnection& connection,
                                                     std::string_view publication,
                                                     const std::vector<OutboxTable>& tables,
                                                     Micros timeout) {
  std::vector<TableInfo> out;
  for (const OutboxTable& table : tables) {
    if (table.name.empty()) {
      out.emplace_back();  // no table
      continue;
    }
    WR_ASSIGN_OR_RETURN(TableInfo info, ReadTable(connection, publication, table, timeout));
    out.push_back(std::move(info));
  }
  return out;
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

absl::StatusOr<pgoutput::CachedRelation> ReadRelation(PgConnection& connection,
                                                      const TableInfo& table, Micros timeout) {
  WR_ASSIGN_OR_RETURN(const PgResult rows,
                      connection.Query(fmt::format(kRelationQuery, table.oid), timeout));
  pgoutput::CachedRelation relation{.oid = table.oid, .schema = table.schema, .name = table.name};
  for (int row = 0; row < rows.rows(); ++row) {
    relation.columns.push_back({std::string(rows.Text(row, "attname")),
                                static_cast<uint32_t>(rows.Int(row, "type")),
                                static_cast<int32_t>(rows.Int(row, "atttypmod"))});
  }
  return relation;
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
