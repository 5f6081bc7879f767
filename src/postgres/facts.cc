#include "postgres/facts.h"

#include <fmt/format.h>

#include <charconv>
#include <sstream>

#include "base/check.h"
#include "postgres/quote.h"
#include "walrelay/error.h"

namespace walrelay {
namespace {

Lsn LsnOf(const PgResult& result, int row, const char* column) {
  return Lsn::Parse(result.Text(row, column)).value_or(Lsn());
}

SlotFacts SlotOf(const PgResult& row) {
  return {.plugin = std::string(row.Text(0, "plugin")),
          .database = std::string(row.Text(0, "database")),
          .logical = row.Text(0, "slot_type") == "logical",
          .temporary = row.Bool(0, "temporary"),
          .active = row.Bool(0, "active"),
          .active_pid = static_cast<int>(row.Int(0, "active_pid")),
          .restart = LsnOf(row, 0, "restart_lsn"),
          .confirmed_flush = LsnOf(row, 0, "confirmed_flush_lsn"),
          .wal_status = std::string(row.Text(0, "wal_status")),
          .invalidation_reason = std::string(row.Text(0, "invalidation_reason")),
          .synced = row.Bool(0, "synced")};
}

// pg_publication_tables has row filters (PG 15+), one row per table or leaf partition; on older
// servers the columns do not exist and read as NULL. A table is published if the publication lists
// the table or its schema (PG 15+), or is FOR ALL TABLES.
constexpr std::string_view kTableQuery = R"(
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
constexpr std::string_view kColumnQuery = R"(
SELECT a.attname, a.attnotnull AS not_null, e.enumlabel,
       CASE WHEN a.attgenerated OPERATOR(pg_catalog.=) ''
            THEN pg_catalog.pg_get_expr(d.adbin, d.adrelid) END AS expression
FROM pg_catalog.pg_attribute a
LEFT JOIN pg_catalog.pg_attrdef d
  ON d.adrelid OPERATOR(pg_catalog.=) a.attrelid AND d.adnum OPERATOR(pg_catalog.=) a.attnum
LEFT JOIN pg_catalog.pg_enum e ON e.enumtypid OPERATOR(pg_catalog.=) a.atttypid
WHERE a.attrelid OPERATOR(pg_catalog.=) {} AND a.attnum OPERATOR(pg_catalog.>) 0
  AND NOT a.attisdropped
ORDER BY a.attnum, e.enumsortorder)";

absl::StatusOr<std::vector<ColumnFacts>> ReadColumns(PgConnection& connection, uint32_t table,
                                                     Micros timeout) {
  WR_ASSIGN_OR_RETURN(const PgResult rows,
                      connection.Query(fmt::format(kColumnQuery, table), timeout));
  std::vector<ColumnFacts> columns;
  for (int row = 0; row < rows.rows(); ++row) {
    const std::string_view name = rows.Text(row, "attname");
    if (columns.empty() || columns.back().name != name) {
      columns.push_back({.name = std::string(name),
                         .not_null = rows.Bool(row, "not_null"),
                         .default_expression = std::string(rows.Text(row, "expression"))});
    }
    if (const auto label = rows.Get(row, "enumlabel")) {
      columns.back().enum_labels.emplace_back(*label);
    }
  }
  return columns;
}

absl::StatusOr<TableFacts> ReadTable(PgConnection& connection, std::string_view publication,
                                     const OutboxTable& table, Micros timeout) {
  TableFacts facts{.schema = table.schema, .name = table.name};
  const std::string publication_name = QuoteLiteral(publication);
  const std::string schema = QuoteLiteral(table.schema);
  const std::string name = QuoteLiteral(table.name);
  WR_ASSIGN_OR_RETURN(
      const PgResult found,
      connection.Query(fmt::format(kTableQuery, publication_name, schema, name), timeout));
  if (found.rows() == 0) {
    return facts;
  }
  facts.oid = static_cast<uint32_t>(found.Int(0, "oid"));
  facts.unlogged = found.Text(0, "relpersistence") == "u";
  facts.partitioned = found.Text(0, "relkind") == "p";
  facts.published = found.Bool(0, "published");
  WR_ASSIGN_OR_RETURN(
      const PgResult shown,
      connection.Query(fmt::format(kFilterQuery, publication_name, schema, name, facts.oid),
                       timeout));
  if (shown.rows() > 0) {
    facts.row_filter = shown.Get(0, "rowfilter").has_value();
    const int64_t columns = ArrayLength(shown.Get(0, "attnames"));
    facts.column_list = columns > 0 && columns < shown.Int(0, "all_columns");
  }
  WR_ASSIGN_OR_RETURN(facts.columns, ReadColumns(connection, facts.oid, timeout));
  return facts;
}

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

absl::Status ReadIdentity(PgConnection& connection, Micros timeout, ServerFacts& facts) {
  WR_ASSIGN_OR_RETURN(const PgResult system, connection.Query("IDENTIFY_SYSTEM", timeout));
  if (system.rows() != 1) {
    return Error(ErrorCode::kNotReplication, "IDENTIFY_SYSTEM returned no row");
  }
  facts.system_id = std::string(system.Text(0, "systemid"));
  facts.timeline = static_cast<uint32_t>(system.Int(0, "timeline"));
  facts.wal_end = LsnOf(system, 0, "xlogpos");
  facts.database = std::string(system.Text(0, "dbname"));
  facts.backend_pid = PQbackendPID(connection.get());
  const char* host = PQhost(connection.get());  // Unix socket: its directory or abstract name
  facts.by_network = host != nullptr && host[0] != '/' && host[0] != '@';
  return absl::OkStatus();
}

absl::StatusOr<ServerFacts> ReadServerFacts(PgConnection& connection, Micros timeout) {
  ServerFacts facts;
  WR_RETURN_IF_ERROR(ReadIdentity(connection, timeout, facts));
  WR_ASSIGN_OR_RETURN(
      const PgResult settings,
      connection.Query("SELECT pg_catalog.pg_is_in_recovery() AS in_recovery,"
                       " pg_catalog.current_setting('server_version_num') AS version,"
                       " (SELECT s.setting FROM pg_catalog.pg_settings s"
                       "  WHERE s.name OPERATOR(pg_catalog.=) 'wal_sender_timeout')"
                       " AS wal_sender_timeout",
                       timeout));
  if (settings.rows() != 1) {
    return Error(ErrorCode::kNotReplication, "the query for settings returned no row");
  }
  WR_ASSIGN_OR_RETURN(facts.ancestors, ReadAncestors(connection, facts.timeline, timeout));
  facts.version = static_cast<int>(settings.Int(0, "version"));
  facts.in_recovery = settings.Bool(0, "in_recovery");
  facts.wal_sender_timeout = std::chrono::milliseconds(settings.Int(0, "wal_sender_timeout"));
  return facts;
}

absl::StatusOr<std::optional<SlotFacts>> ReadSlotFacts(PgConnection& connection,
                                                       std::string_view slot, Micros timeout) {
  WR_ASSIGN_OR_RETURN(const PgResult row,
                      connection.Query(fmt::format("SELECT * FROM pg_catalog.pg_replication_slots "
                                                   "WHERE slot_name OPERATOR(pg_catalog.=) {}",
                                                   QuoteLiteral(slot)),
                                       timeout));
  if (row.rows() == 0) {
    return std::nullopt;
  }
  return SlotOf(row);
}

absl::StatusOr<PublicationFacts> ReadPublicationFacts(PgConnection& connection,
                                                      std::string_view publication,
                                                      Micros timeout) {
  WR_ASSIGN_OR_RETURN(const PgResult row,
                      connection.Query(fmt::format("SELECT * FROM pg_catalog.pg_publication "
                                                   "WHERE pubname OPERATOR(pg_catalog.=) {}",
                                                   QuoteLiteral(publication)),
                                       timeout));
  if (row.rows() == 0) {
    return PublicationFacts();
  }
  return PublicationFacts{.exists = true,
                          .publishes_insert = row.Bool(0, "pubinsert"),
                          .publishes_more = row.Bool(0, "pubupdate") || row.Bool(0, "pubdelete") ||
                                            row.Bool(0, "pubtruncate"),
                          .via_partition_root = row.Bool(0, "pubviaroot")};
}

absl::StatusOr<std::vector<TableFacts>> ReadTableFacts(PgConnection& connection,
                                                       std::string_view publication,
                                                       const std::vector<OutboxTable>& tables,
                                                       Micros timeout) {
  std::vector<TableFacts> out;
  for (const OutboxTable& table : tables) {
    if (table.name.empty()) {
      out.emplace_back();  // no table
      continue;
    }
    WR_ASSIGN_OR_RETURN(TableFacts facts, ReadTable(connection, publication, table, timeout));
    out.push_back(std::move(facts));
  }
  return out;
}

absl::StatusOr<pgoutput::CachedRelation> ReadRelation(PgConnection& connection,
                                                      const TableFacts& table, Micros timeout) {
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
  constexpr int kFirstWithMessages = 140000;
  return source.message_prefixes.empty() || server_version >= kFirstWithMessages
             ? absl::OkStatus()
             : Error(ErrorCode::kConfigValue,
                     fmt::format(
                         "source.message_prefixes requires Postgres version 14 or later; this "
                         "server is version {}",
                         server_version / 10000));
}

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
