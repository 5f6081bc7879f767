#include "doctor/source_checks.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "base/quote.h"
#include "base/text.h"
#include "postgres/catalog_queries.h"
#include "postgres/connection_parameters.h"
#include "postgres/outbox_tables.h"
#include "postgres/publication_state.h"
#include "route/table_binding.h"
#include "stream/start_position.h"
#include "walrelay/config/format.h"
#include "walrelay/config/route.h"
#include "walrelay/config/source.h"

namespace walrelay {
namespace {

// Writers may fill only one of two columns: of a rename in steps, with an old and a new column.
void CheckBothNames(const pgoutput::CachedRelation& relation, const OutboxTable& mapping,
                    Findings& out) {
  for (const auto* column : mapping.columns.all()) {
    const ColumnNames configured = column->value_or("");
    std::vector<std::string> present;
    for (const std::string& name : configured.all()) {
      const auto has_name = [&](const auto& each) { return each.name == name; };
      if (std::any_of(relation.columns.begin(), relation.columns.end(), has_name)) {
        present.push_back(Printable(name, 63));
      }
    }
    if (present.size() > 1) {
      out.Warn(
          "table.both_columns",
          fmt::format("table {}.{} has the columns {}, of which rows are published with {}",
                      relation.schema, relation.name, fmt::join(present, " and "), present.front()),
          fmt::format("Make sure that every writer fills {}, then drop the other column.",
                      present.front()));
    }
  }
}

void CheckColumns(const SourceConfig& source, const RouteConfig& route, const FormatConfig& format,
                  const TableInfo& table, const OutboxTable& mapping, Findings& out) {
  // From the catalog, in the form of the Relation message that the stream would send.
  const pgoutput::CachedRelation relation = RelationOf(table);
  // The binding of the relay itself, so that doctor cannot accept a table that the relay rejects.
  const TableBinding binding = BindTable(relation, mapping,
                                         {.route = route,
                                          .format = format,
                                          .missing_columns = source.missing_columns,
                                          .info = &table});
  if (!binding.status.ok()) {
    out.Problem("table.columns", binding.status);
    return;
  }
  CheckBothNames(relation, mapping, out);
  const std::pair<std::string_view, const BoundColumn*> parts[] = {
      {"topic", &binding.aggregate_type},  {"key", &binding.aggregate_id},
      {"value", &binding.payload},         {"header id", &binding.id},
      {"event type", &binding.event_type}, {"trace id", &binding.trace_id}};
  std::string text;
  for (const auto& [part, column] : parts) {
    if (column->present()) {
      text += fmt::format("{}{} from {}", text.empty() ? "" : ", ", part,
                          relation.columns[static_cast<size_t>(column->index)].name);
    }
  }
  out.Good("table.columns", fmt::format("table {}.{}: {}", table.schema, table.name, text));
  if (table.column_list) {
    out.Warn(
        "publication.column_list",
        fmt::format("table {}.{} is published with a column list", table.schema, table.name),
        "Columns outside the list do not reach walrelay; make sure that it contains those above.");
  }
}

// Any ALTER PUBLICATION is a gap (WR-2110): the catalog does not show whether inserts were off in
// between.
std::string SetPublished(const SourceConfig& source, std::string_view operations) {
  return fmt::format(
      "ALTER PUBLICATION {} SET (publish = '{}'); walrelay then holds (WR-2110), because it cannot "
      "see that inserts were never off: walrelay resume --accept-gap.",
      QuoteIdentifier(source.publication), operations);
}

absl::Status CheckPublishedOperations(PgConnection& connection, const SourceConfig& source,
                                      Findings& out) {
  WR_ASSIGN_OR_RETURN(
      const PgResult row,
      connection.Query(fmt::format("SELECT p.pubupdate AS updates, p.pubdelete OR p.pubtruncate AS "
                                   "more FROM pg_catalog.pg_publication p "
                                   "WHERE p.pubname OPERATOR(pg_catalog.=) {}",
                                   QuoteLiteral(source.publication)),
                       source.connect_timeout));
  if (row.rows() == 0) {
    return absl::OkStatus();
  }
  // Only an update that the publication sends can block publishing.
  const bool needs_updates = source.on_update == OnUpdate::kFail;
  const bool updates = row.Bool(0, "updates");
  if (needs_updates && !updates) {
    out.Warn("publication.updates",
             fmt::format("source.on_update is \"fail\", but publication {} sends no updates: an "
                         "updated row does not block publishing",
                         source.publication),
             SetPublished(source, "insert, update"));
  }
  // No loss, only traffic: the walsender decodes and sends rows that the relay then ignores.
  if (row.Bool(0, "more") || (updates && !needs_updates)) {
    out.Warn("publication.inserts_only",
             fmt::format("publication {} sends more than {}; walrelay reads and ignores the rest",
                         source.publication, needs_updates ? "inserts and updates" : "inserts"),
             SetPublished(source, needs_updates ? "insert, update" : "insert"));
  }
  return absl::OkStatus();
}

void CheckPublication(const SourceInfo& info, const std::string& publication, Findings& out) {
  const auto problems = PublicationProblems(info, publication);
  // An entry without a name means that there is no table, only logical messages.
  const auto named = std::count_if(info.tables.begin(), info.tables.end(),
                                   [](const TableInfo& table) { return !table.name.empty(); });
  for (const absl::Status& problem : problems) {
    out.Problem("publication.complete", problem);
  }
  if (!problems.empty()) {
    return;
  }
  out.Good("publication.complete",
           fmt::format("publication {} publishes the inserts of {} outbox table{}", publication,
                       named, named == 1 ? "" : "s"));
}

// Postgres rejects updates and deletes of a table that publishes them and has no replica identity:
// those of the application, or of the job that empties the outbox.
absl::Status CheckReplicaIdentity(PgConnection& connection, const SourceConfig& source,
                                  const TableInfo& table, Findings& out) {
  WR_ASSIGN_OR_RETURN(
      const PgResult row,
      connection.Query(
          fmt::format("SELECT (p.pubupdate OR p.pubdelete) AND (c.relreplident"
                      " OPERATOR(pg_catalog.=) 'n' OR (c.relreplident OPERATOR(pg_catalog.=) 'd'"
                      " AND NOT EXISTS (SELECT 1 FROM pg_catalog.pg_index i"
                      "  WHERE i.indrelid OPERATOR(pg_catalog.=) c.oid AND i.indisprimary)))"
                      " AS missing FROM pg_catalog.pg_publication p, pg_catalog.pg_class c "
                      "WHERE p.pubname OPERATOR(pg_catalog.=) {}"
                      " AND c.oid OPERATOR(pg_catalog.=) {}",
                      QuoteLiteral(source.publication), table.oid),
          source.connect_timeout));
  // 'd' is the default identity, the primary key; 'n' is none. 'f' (the whole row) and 'i' (an
  // index) need no primary key.
  if (table.published && row.rows() == 1 && row.Bool(0, "missing")) {
    out.Warn("publication.replica_identity",
             fmt::format("publication {} sends updates or deletes, and table {}.{} has no replica "
                         "identity: Postgres rejects updates and deletes of its rows",
                         source.publication, table.schema, table.name),
             fmt::format("Give the table a primary key. Or, without one: {}",
                         SetPublished(source, "insert")));
  }
  return absl::OkStatus();
}

// A subscription may write to a table by one of its partitions, or by a table that it is a
// partition of.
constexpr std::string_view kSubscribedQuery = R"(
SELECT 1 FROM pg_catalog.pg_subscription_rel r
WHERE r.srrelid OPERATOR(pg_catalog.=) {0} OR r.srrelid OPERATOR(pg_catalog.=) ANY (ARRAY(
  SELECT p.relid::pg_catalog.oid FROM pg_catalog.pg_partition_tree({0}::pg_catalog.oid) p
  UNION ALL
  SELECT a.relid::pg_catalog.oid FROM pg_catalog.pg_partition_ancestors({0}::pg_catalog.oid) a))
LIMIT 1)";

// The origins of subscriptions have such names, those of all databases.
constexpr std::string_view kForeignOriginQuery = R"(
SELECT o.roname FROM pg_catalog.pg_replication_origin o
WHERE o.roname OPERATOR(pg_catalog.!~) '^pg_[0-9]+(_[0-9]+)?$' ORDER BY o.roident LIMIT 1)";

// The tables that a program with its own origin writes to are unknown.
absl::Status CheckOrigins(PgConnection& connection, const SourceConfig& source,
                          const std::vector<TableInfo>& tables, Findings& out) {
  constexpr std::string_view kChoose =
      "Set source.origin = \"none\" if a relay of the other server publishes such rows, or "
      "\"any\" if none does.";
  if (source.origin != OriginFilter::kUnset) {
    return absl::OkStatus();
  }
  bool subscribed = false;
  for (const TableInfo& table : tables) {
    WR_ASSIGN_OR_RETURN(
        const PgResult rows,
        connection.Query(fmt::format(kSubscribedQuery, table.oid), source.connect_timeout));
    if (rows.rows() > 0) {
      subscribed = true;
      out.Warn("publication.origin",
               fmt::format("a subscription writes to table {}.{}, and source.origin is not set: "
                           "its rows are published as well",
                           table.schema, table.name),
               std::string(kChoose));
    }
  }
  WR_ASSIGN_OR_RETURN(const PgResult origins,
                      connection.Query(std::string(kForeignOriginQuery), source.connect_timeout));
  if (origins.rows() > 0 && !subscribed) {
    out.Warn("publication.origin",
             fmt::format("the server has replication origin \"{}\", which is not that of a "
                         "subscription, and source.origin is not set: outbox rows that are written "
                         "with it are published as well",
                         Printable(origins.Text(0, "roname"), 63)),
             std::string(kChoose));
  }
  return absl::OkStatus();
}

void CheckLogicalMessages(const SourceConfig& source, int server_version, Findings& out) {
  if (const absl::Status status = CheckMessages(source, server_version); !status.ok()) {
    out.Problem("messages.sent", status);
  } else if (!source.message_prefixes.empty()) {
    out.Good("messages.sent", fmt::format("logical messages with prefix {} are events",
                                          fmt::join(source.message_prefixes, ", ")));
  }
}

// CheckSlot() reports the slot's reader in full.
void CheckStart(const SourceInfo& info, const SourceConfig& source, Depth depth, Findings& out) {
  if (depth == Depth::kStart && info.slot && info.slot->active) {
    out.Warn(
        "slot.in_use",
        fmt::format(
            "slot {} is in use by server process {}: an instance started now becomes a standby",
            source.slot, info.slot->active_pid),
        "Nothing if that process is one of your walrelay instances.");
  }
  // The relay's own decision for a start without memory of a previous session.
  const auto decision = DecideStart(std::nullopt, info);
  if (!decision.ok()) {
    out.Problem("slot.usable", decision.status());
    return;
  }
  out.Good("slot.usable",
           fmt::format("slot {}: confirmed up to {}, {} behind the end of the WAL", source.slot,
                       decision->position.ToString(),
                       HumanBytes(BytesBetween(decision->position, info.server.wal_end))));
}

// A connection parameter that a remedy names; "" if absent.
std::string Parameter(const SourceConfig& source, std::string_view name) {
  const auto parameters = MakeConnectionParameters(source, ConnectionPurpose::kSql);
  for (const auto& [key, value] : parameters.value_or(ConnectionParameters())) {
    if (key == name) {
      return value;
    }
  }
  return "";
}

}  // namespace

absl::StatusOr<SourceInfo> CheckSource(PgConnection& connection, const SourceConfig& source,
                                       const RouteConfig& route, const FormatConfig& format,
                                       Depth depth, Findings& out) {
  const Micros timeout = source.connect_timeout;
  SourceInfo info;
  // On the walsender connection, as the relay does before a stream: the checks see what the relay
  // sees. The slot is read before the end of the WAL: a relay that runs confirms more meanwhile.
  WR_ASSIGN_OR_RETURN(info.slot, ReadSlotInfo(connection, source.slot, timeout));
  WR_ASSIGN_OR_RETURN(info.server, ReadServerInfo(connection, timeout));
  out.Good("postgres.connect",
           fmt::format("Postgres {}: version {}.{}, system {}, timeline {}", DescribeDsn(source),
                       info.server.version / 10000, info.server.version % 10000,
                       info.server.system_id, info.server.timeline));
  WR_ASSIGN_OR_RETURN(info.publication,
                      ReadPublicationInfo(connection, source.publication, timeout));
  WR_ASSIGN_OR_RETURN(info.tables,
                      ReadTableInfo(connection, source.publication, source.tables, timeout));
  WR_ASSIGN_OR_RETURN(info.publication_state,
                      ReadPublicationState(connection, source, info.server.wal_end, timeout));
  CheckPublication(info, source.publication, out);
  WR_RETURN_IF_ERROR(CheckPublishedOperations(connection, source, out));
  CheckLogicalMessages(source, info.server.version, out);
  for (size_t i = 0; i < info.tables.size(); ++i) {
    // A table without an OID does not exist; CheckPublication() has reported it.
    if (info.tables[i].oid != 0) {
      CheckColumns(source, route, format, info.tables[i], source.tables[i], out);
      WR_RETURN_IF_ERROR(CheckReplicaIdentity(connection, source, info.tables[i], out));
    }
  }
  WR_RETURN_IF_ERROR(CheckOrigins(connection, source, info.tables, out));
  CheckStart(info, source, depth, out);
  return info;
}

absl::Status WithExactRemedy(const absl::Status& error, const SourceConfig& source) {
  const std::string user = Parameter(source, "user");
  const std::string database = Parameter(source, "dbname");
  if (user.empty()) {
    return error;
  }
  if (HasCode(error, ErrorCode::kNoReplicationRole)) {
    return Error(ErrorCode::kNoReplicationRole, MessageOf(error),
                 fmt::format("As a superuser: ALTER ROLE {0} REPLICATION;  -- on RDS: GRANT "
                             "rds_replication TO {0};",
                             QuoteIdentifier(user)));
  }
  if (HasCode(error, ErrorCode::kPermissionDenied) &&
      RemedyFor(error).starts_with("GRANT CONNECT")) {
    return Error(
        ErrorCode::kPermissionDenied, MessageOf(error),
        fmt::format("GRANT CONNECT ON DATABASE {} TO {};",
                    QuoteIdentifier(database.empty() ? user : database), QuoteIdentifier(user)));
  }
  // The server may translate its message (lc_messages), but not the name of the file.
  if (HasCode(error, ErrorCode::kPostgresLogin) &&
      MessageOf(error).find("pg_hba.conf") != std::string::npos) {
    return Error(
        ErrorCode::kPostgresLogin, MessageOf(error),
        fmt::format("In pg_hba.conf, then SELECT pg_reload_conf(): hostssl {} {} ADDRESS "
                    "scram-sha-256  (a line for `replication` does not apply)",
                    QuoteIdentifier(database.empty() ? user : database), QuoteIdentifier(user)));
  }
  return error;
}

}  // namespace walrelay
