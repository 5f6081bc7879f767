#include "postgres/setup.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/text.h"
#include "postgres/catalog_queries.h"
#include "postgres/quote.h"
#include "walrelay/error.h"

namespace walrelay {
namespace {

// A lock that another session holds on a table delays setup, but not for long.
constexpr std::chrono::seconds kStatementTimeout{30};

std::string QualifiedName(const OutboxTable& table) {
  return fmt::format("{}.{}", QuoteIdentifier(table.schema), QuoteIdentifier(table.name));
}

// A column of the table to create. Two parts of an event may be mapped to the same column.
struct NewColumn {
  std::string name;
  std::string_view definition;
  std::string_view comment = {};
};

class NewColumns {
 public:
  void Add(std::string_view name, std::string_view definition, std::string_view comment = {}) {
    const auto same = [&](const NewColumn& column) { return column.name == name; };
    if (!name.empty() && std::none_of(columns_.begin(), columns_.end(), same)) {
      columns_.push_back({std::string(name), definition, comment});
    }
  }
  std::string Sql() const {
    std::string out;
    for (const NewColumn& column : columns_) {
      const bool last = &column == &columns_.back();
      out += fmt::format("  {:<16} {}{}{}{}\n", QuoteIdentifier(column.name), column.definition,
                         last ? "" : ",", column.comment.empty() ? "" : "  -- ", column.comment);
    }
    return out;
  }

 private:
  std::vector<NewColumn> columns_;
};

// The columns have walrelay's default names, unless others are configured; parts that are mapped to
// no column are left out.
std::string CreateTable(const OutboxTable& table) {
  const ColumnNames& names = table.columns;
  NewColumns columns;
  columns.Add(names.id.value_or("id"),
              "uuid        PRIMARY KEY DEFAULT pg_catalog.gen_random_uuid()");
  columns.Add(names.aggregate_type.value_or("aggregate_type"), "text        NOT NULL",
              "the topic is derived from it");
  columns.Add(names.aggregate_id.value_or("aggregate_id"), "text        NOT NULL",
              "the record's key: events of one aggregate keep their order");
  columns.Add(names.event_type.value_or("event_type"), "text        NOT NULL");
  columns.Add(names.payload.value_or("payload"), "jsonb       NOT NULL",
              "the record's value, byte for byte");
  // For the job that deletes old rows; walrelay does not read it.
  columns.Add("created_at", "timestamptz NOT NULL DEFAULT pg_catalog.now()");
  columns.Add(names.trace_id.value_or("trace_id"), "text");
  for (const auto* name :
       {&names.traceparent, &names.tracestate, &names.span_context, &names.version}) {
    columns.Add(name->value_or(""), "text");
  }
  for (const Placement& placement : table.placements) {
    columns.Add(placement.column,
                placement.where == Placement::Where::kPartition ? "integer" : "text");
  }
  return fmt::format("CREATE TABLE {} (\n{});", QualifiedName(table), columns.Sql());
}

std::string TableList(const SourceConfig& source) {
  std::string out;
  for (const OutboxTable& table : source.tables) {
    out += (out.empty() ? "" : ", ") + QualifiedName(table);
  }
  return out;
}

// Only logical messages are events; the stream needs a publication nevertheless.
bool HasNoTable(const SourceConfig& source) {
  return source.tables.front().name.empty();
}

// publish_via_partition_root: rows of a partitioned table arrive under its name. It has no effect
// on other tables.
std::string CreatePublication(const SourceConfig& source) {
  return fmt::format(
      "CREATE PUBLICATION {}{} WITH (publish = 'insert', "
      "publish_via_partition_root = true);",
      QuoteIdentifier(source.publication),
      HasNoTable(source) ? "" : " FOR TABLE " + TableList(source));
}

// The named arguments after the plugin differ between versions; failover exists from version 17 on.
std::string CreateSlot(const SourceConfig& source, const SetupOptions& options) {
  return fmt::format(
      "SELECT pg_catalog.pg_create_logical_replication_slot({}, 'pgoutput'{});",
      QuoteLiteral(source.slot),
      options.failover ? ", temporary => false, twophase => false, failover => true" : "");
}

// The distinct schemas of the tables.
std::set<std::string> Schemas(const SourceConfig& source) {
  std::set<std::string> schemas;
  for (const OutboxTable& table : source.tables) {
    if (!table.name.empty()) {
      schemas.insert(table.schema);
    }
  }
  return schemas;
}

std::string CreateSchema(const std::string& schema) {
  return fmt::format("CREATE SCHEMA IF NOT EXISTS {};", QuoteIdentifier(schema));
}

// Read-only by default, as a second barrier: walrelay writes nothing to tables. The connection
// limit keeps a defect from using up the server's connections.
std::vector<std::string> GrantRole(const SourceConfig& source, const std::string& role) {
  const std::string name = QuoteIdentifier(role);
  std::vector<std::string> out = {
      fmt::format("ALTER ROLE {} LOGIN REPLICATION CONNECTION LIMIT 8;", name),
      fmt::format("ALTER ROLE {} SET default_transaction_read_only = on;", name)};
  for (const std::string& schema : Schemas(source)) {
    out.push_back(fmt::format("GRANT USAGE ON SCHEMA {} TO {};", QuoteIdentifier(schema), name));
  }
  return out;
}

// Whether a catalog has a row with this name. `catalog` and `column` are ours, `name` is quoted.
absl::StatusOr<bool> Exists(PgConnection& connection, std::string_view catalog,
                            std::string_view column, const std::string& name) {
  WR_ASSIGN_OR_RETURN(
      const PgResult row,
      connection.Query(fmt::format("SELECT 1 FROM pg_catalog.{} WHERE {} OPERATOR(pg_catalog.=) {}",
                                   catalog, column, QuoteLiteral(name)),
                       kStatementTimeout));
  return row.rows() > 0;
}

absl::Status PlanRole(PgConnection& connection, const SourceConfig& source, const std::string& role,
                      std::vector<SetupStep>& steps) {
  WR_ASSIGN_OR_RETURN(const bool exists, Exists(connection, "pg_roles", "rolname", role));
  // A role that exists belongs to the operator: its attributes are not changed.
  if (exists) {
    return absl::OkStatus();
  }
  const std::string what = fmt::format("role {}", role);
  steps.push_back({what, fmt::format("CREATE ROLE {};", QuoteIdentifier(role))});
  for (std::string& sql : GrantRole(source, role)) {
    steps.push_back({what, std::move(sql)});
  }
  return absl::OkStatus();
}

absl::Status PlanSchemas(PgConnection& connection, const SourceConfig& source,
                         std::vector<SetupStep>& steps) {
  for (const std::string& schema : Schemas(source)) {
    WR_ASSIGN_OR_RETURN(const bool exists, Exists(connection, "pg_namespace", "nspname", schema));
    if (!exists) {
      steps.push_back({fmt::format("schema {}", schema), CreateSchema(schema)});
    }
  }
  return absl::OkStatus();
}

// A table is created only when that is asked for: a missing table is more often a wrong name.
absl::Status PlanTables(const SourceConfig& source, const SetupOptions& options,
                        const std::vector<TableInfo>& tables, std::vector<SetupStep>& steps) {
  for (size_t i = 0; i < tables.size(); ++i) {
    if (tables[i].oid != 0 || tables[i].name.empty()) {
      continue;
    }
    const std::string name = fmt::format("{}.{}", tables[i].schema, tables[i].name);
    if (!options.create_table) {
      return Error(ErrorCode::kTableMissing, name,
                   "Check the name, or create the table: walrelay setup --apply --create-table");
    }
    steps.push_back({fmt::format("table {}", name), CreateTable(source.tables[i])});
  }
  return absl::OkStatus();
}

// A publication that exists is changed as little as possible: its other tables and options belong
// to the operator.
void PlanPublication(const SourceConfig& source, const PublicationInfo& publication,
                     const std::vector<TableInfo>& tables, std::vector<SetupStep>& steps) {
  const std::string name = QuoteIdentifier(source.publication);
  if (!publication.exists) {
    steps.push_back({fmt::format("publication {}", name), CreatePublication(source)});
    return;
  }
  for (size_t i = 0; i < tables.size(); ++i) {
    if (!tables[i].published && !tables[i].name.empty()) {
      steps.push_back(
          {fmt::format("add table {}.{} to publication {}", tables[i].schema, tables[i].name, name),
           fmt::format("ALTER PUBLICATION {} ADD TABLE {};", name,
                       QualifiedName(source.tables[i]))});
    }
  }
  if (!publication.publishes_insert) {
    steps.push_back({fmt::format("set publication {} to publish inserts", name),
                     fmt::format("ALTER PUBLICATION {} SET (publish = 'insert');", name)});
  }
  const bool partitioned = std::any_of(tables.begin(), tables.end(),
                                       [](const TableInfo& table) { return table.partitioned; });
  if (partitioned && !publication.via_partition_root) {
    steps.push_back(
        {fmt::format("set publication {} to publish partitioned tables via their root", name),
         fmt::format("ALTER PUBLICATION {} SET (publish_via_partition_root = true);", name)});
  }
}

}  // namespace

std::string SetupScript(const SourceConfig& source, const SetupOptions& options) {
  const std::string role = options.role.empty() ? "walrelay" : options.role;
  std::string out =
      "-- walrelay setup: run once, in this order, as the owner of the database.\n"
      "-- The server needs wal_level = logical (ALTER SYSTEM SET wal_level = 'logical'; then a "
      "restart).\n"
      "-- Also set max_slot_wal_keep_size: it limits the WAL retained while the relay is "
      "stopped.\n\n"
      "-- 1. The outbox table. Other column names are possible: see [source.columns] in "
      "docs/configuration.md.\n";
  for (const std::string& schema : Schemas(source)) {
    out += schema == "public" ? "" : CreateSchema(schema) + "\n";
  }
  for (const OutboxTable& table : source.tables) {
    out += table.name.empty() ? "-- No table: events are logical messages.\n"
                              : CreateTable(table) + "\n";
  }
  out += fmt::format(
      "\n-- 2. The publication, before the slot. Inserts only, so that deleting old rows stays "
      "cheap.\n{}\n",
      CreatePublication(source));
  out += fmt::format(
      "\n-- 3. The slot. From now on Postgres retains the WAL of events not yet published.\n{}\n",
      CreateSlot(source, options));
  out += fmt::format(
      "\n-- 4. A role for walrelay. Like every role with REPLICATION, it can read all changes in "
      "the\n"
      "--    database; it needs no privilege on any table. Set its password: \\password {}\n"
      "CREATE ROLE {};\n",
      Printable(role), QuoteIdentifier(role));
  for (const std::string& sql : GrantRole(source, role)) {
    out += sql + "\n";
  }
  out += fmt::format("--    pg_hba.conf: hostssl DATABASE {} ADDRESS scram-sha-256\n",
                     Printable(role));
  return out;
}

// In the order in which the steps must run: the publication must exist before the slot.
absl::StatusOr<std::vector<SetupStep>> PlanSetup(PgConnection& connection,
                                                 const SourceConfig& source,
                                                 const SetupOptions& options) {
  WR_ASSIGN_OR_RETURN(const PublicationInfo publication,
                      ReadPublicationInfo(connection, source.publication, kStatementTimeout));
  WR_ASSIGN_OR_RETURN(
      const std::vector<TableInfo> tables,
      ReadTableInfo(connection, source.publication, source.tables, kStatementTimeout));
  WR_ASSIGN_OR_RETURN(const std::optional<SlotInfo> slot,
                      ReadSlotInfo(connection, source.slot, kStatementTimeout));
  std::vector<SetupStep> steps;
  if (options.create_table) {
    WR_RETURN_IF_ERROR(PlanSchemas(connection, source, steps));
  }
  WR_RETURN_IF_ERROR(PlanTables(source, options, tables, steps));
  PlanPublication(source, publication, tables, steps);
  // The slot's position is older than the publication would be, so decoding would fail there
  // (WR-2306).
  if (slot && !publication.exists) {
    return Error(
        ErrorCode::kPublicationTooNew,
        fmt::format("slot {} exists, publication \"{}\" does not", source.slot, source.publication),
        fmt::format(
            "If the slot is not in use yet: SELECT pg_drop_replication_slot('{}'); then run this "
            "command again.",
            source.slot));
  }
  if (!slot) {
    steps.push_back({fmt::format("slot {}", source.slot), CreateSlot(source, options)});
  }
  if (!options.role.empty()) {
    WR_RETURN_IF_ERROR(PlanRole(connection, source, options.role, steps));
  }
  return steps;
}

// The slot first: without it no WAL is retained, even if the second statement fails.
absl::Status UndoSetup(PgConnection& connection, const SourceConfig& source) {
  WR_RETURN_IF_ERROR(connection
                         .Query(fmt::format("SELECT pg_catalog.pg_drop_replication_slot(slot_name) "
                                            "FROM pg_catalog.pg_replication_slots "
                                            "WHERE slot_name OPERATOR(pg_catalog.=) {}",
                                            QuoteLiteral(source.slot)),
                                kStatementTimeout)
                         .status());
  return connection
      .Query(fmt::format("DROP PUBLICATION IF EXISTS {}", QuoteIdentifier(source.publication)),
             kStatementTimeout)
      .status();
}

}  // namespace walrelay
