#include "postgres/setup.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <set>

#include "base/text.h"
#include "outbox/partition_plan.h"
#include "postgres/catalog_queries.h"
#include "postgres/pg_error.h"
#include "postgres/quote.h"
#include "walrelay/error.h"

namespace walrelay {
namespace {

// A lock that another session holds on a table delays setup, but not for long.
constexpr std::chrono::seconds kStatementTimeout{30};
// Creating a logical slot waits until all transactions that are running at that moment have ended.
constexpr std::chrono::seconds kStepTimeout{60};

std::string QualifiedName(const OutboxTable& table) {
  return QuoteQualified(table.schema, table.name);
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
  // `constraint`: after the columns; "": none.
  std::string Sql(std::string_view constraint = "") const {
    std::string out;
    for (const NewColumn& column : columns_) {
      const bool last = &column == &columns_.back() && constraint.empty();
      out += fmt::format("  {:<16} {}{}{}{}\n", QuoteIdentifier(column.name), column.definition,
                         last ? "" : ",", column.comment.empty() ? "" : "  -- ", column.comment);
    }
    return constraint.empty() ? out : fmt::format("{}  {}\n", out, constraint);
  }

 private:
  std::vector<NewColumn> columns_;
};

// For the age of rows: walrelay does not publish it.
constexpr std::string_view kTimeColumn = "created_at";

// The columns have walrelay's default names, unless others are configured; parts that are mapped to
// no column are left out.
NewColumns ColumnsOf(const OutboxTable& table, std::string_view id_definition) {
  const ColumnNames& names = table.columns;
  NewColumns columns;
  columns.Add(names.id.value_or("id"), id_definition);
  columns.Add(names.aggregate_type.value_or("aggregate_type"), "text        NOT NULL",
              "the topic is derived from it");
  columns.Add(names.aggregate_id.value_or("aggregate_id"), "text        NOT NULL",
              "the record's key: events of one aggregate keep their order");
  columns.Add(names.event_type.value_or("event_type"), "text        NOT NULL");
  columns.Add(names.payload.value_or("payload"), "jsonb       NOT NULL",
              "the record's value, as Postgres prints it");
  columns.Add(kTimeColumn, "timestamptz NOT NULL DEFAULT pg_catalog.now()");
  columns.Add(names.trace_id.value_or("trace_id"), "text");
  for (const auto* name :
       {&names.traceparent, &names.tracestate, &names.span_context, &names.version}) {
    columns.Add(name->value_or(""), "text");
  }
  for (const Placement& placement : table.placements) {
    columns.Add(placement.column,
                placement.where == Placement::Where::kPartition ? "integer" : "text");
  }
  return columns;
}

// The table has no rows yet, so no session waits for the locks of PARTITION OF. The DEFAULT
// partition accepts rows for which no partition was created in time: without it, an application's
// INSERT would fail.
std::string CreatePartitions(const OutboxTable& table, const NewPartitions& partitions) {
  const auto create = [&](const std::string& name) {
    return fmt::format("\nCREATE TABLE {} PARTITION OF {}", QuoteQualified(table.schema, name),
                       QualifiedName(table));
  };
  std::string sql = create(DefaultPartitionName(table.name)) + " DEFAULT;";
  for (const PartitionBounds& bounds :
       MissingPartitions(partitions.period, UsualAhead(partitions.period), {}, partitions.now)) {
    sql += fmt::format("{}\n  FOR VALUES FROM ({}) TO ({});",
                       create(PartitionName(table.name, partitions.period, bounds.from)),
                       QuoteLiteral(Rfc3339(bounds.from)), QuoteLiteral(Rfc3339(bounds.to)));
  }
  return sql;
}

// The primary key of a partitioned table contains the time: two partitions may have the same id.
std::string CreatePartitionedTable(const OutboxTable& table, const NewPartitions& partitions) {
  const NewColumns columns =
      ColumnsOf(table, "uuid        NOT NULL DEFAULT pg_catalog.gen_random_uuid()");
  const std::string id = table.columns.id.value_or("id");
  const std::string time = QuoteIdentifier(kTimeColumn);
  return fmt::format(
      "CREATE TABLE {} (\n{}) PARTITION BY RANGE ({});{}", QualifiedName(table),
      columns.Sql(id.empty() ? "" : fmt::format("PRIMARY KEY ({}, {})", QuoteIdentifier(id), time)),
      time, CreatePartitions(table, partitions));
}

std::string CreateTable(const OutboxTable& table, const SetupOptions& options) {
  if (options.partitions) {
    return CreatePartitionedTable(table, *options.partitions);
  }
  const NewColumns columns =
      ColumnsOf(table, "uuid        PRIMARY KEY DEFAULT pg_catalog.gen_random_uuid()");
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
std::string CreateRole(const SourceConfig& source, const std::string& role) {
  const std::string name = QuoteIdentifier(role);
  std::string sql = fmt::format(
      "CREATE ROLE {} LOGIN CONNECTION LIMIT 8;\n"
      "ALTER ROLE {} SET default_transaction_read_only = on;",
      name, name);
  for (const std::string& schema : Schemas(source)) {
    sql += fmt::format("\nGRANT USAGE ON SCHEMA {} TO {};", QuoteIdentifier(schema), name);
  }
  return sql;
}

// For counting rows (metrics.table_count_interval); publishing needs no privilege on a table.
std::string GrantSelect(const OutboxTable& table, const std::string& role) {
  return fmt::format("GRANT SELECT ON {} TO {};", QualifiedName(table), QuoteIdentifier(role));
}

// SELECT, because the statements that prune compare columns. "" if pruning is off, or has a login
// of its own.
std::string GrantPruning(const SourceConfig& source, const PruneConfig& prune,
                         const std::string& role) {
  std::string sql;
  if (prune.mode == PruneMode::kOff || !prune.dsn.empty()) {
    return sql;
  }
  const std::string privilege =
      prune.mode == PruneMode::kDelete
          ? "DELETE"
          : fmt::format("UPDATE ({})", QuoteIdentifier(prune.mark_column));
  for (const OutboxTable& table : source.tables) {
    if (!table.name.empty()) {
      sql += fmt::format("{}GRANT SELECT, {} ON {} TO {};", sql.empty() ? "" : "\n", privilege,
                         QualifiedName(table), QuoteIdentifier(role));
    }
  }
  return sql;
}

// On platforms where the administrator may do so, and needs it for the slot.
constexpr std::string_view kGrantToItself = "ALTER ROLE CURRENT_USER REPLICATION;";

// `lines`, each as a comment.
std::string Comment(std::string_view lines) {
  std::string out;
  while (!lines.empty()) {
    const size_t end = std::min(lines.find('\n'), lines.size());
    out += fmt::format("-- {}\n", lines.substr(0, end));
    lines.remove_prefix(std::min(end + 1, lines.size()));
  }
  return out;
}

// Lines that become sentences of one line: the indent of a line is dropped.
std::string OneLine(std::string_view lines) {
  std::string out;
  for (const char c : lines) {
    if (c == '\n') {
      out += ' ';
    } else if (c != ' ' || !out.ends_with(' ')) {
      out += c;
    }
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

// Always SCRAM, which every supported server has, and which a line of pg_hba.conf with `md5`
// accepts too: the default of Postgres 13 is md5, which a line with `scram-sha-256` does not
// accept.
absl::StatusOr<std::string> PasswordHash(PgConnection& connection, const SetupOptions& options) {
  const std::unique_ptr<char, decltype(&PQfreemem)> hash(
      PQencryptPasswordConn(connection.get(), options.password.Reveal().c_str(),
                            options.role.c_str(), "scram-sha-256"),
      &PQfreemem);
  return hash != nullptr ? absl::StatusOr<std::string>(hash.get())
                         : Error(ErrorCode::kPostgresError,
                                 fmt::format("cannot hash the password: {}",
                                             Readable(PQerrorMessage(connection.get()))));
}

// Whether the role may use replication; nullopt: it does not exist. `role` is an SQL expression.
absl::StatusOr<std::optional<bool>> MayReplicate(PgConnection& connection,
                                                 const std::string& role) {
  WR_ASSIGN_OR_RETURN(
      const PgResult row,
      connection.Query(
          fmt::format("SELECT rolreplication OR rolsuper OR EXISTS ("
                      "SELECT 1 FROM pg_catalog.pg_auth_members AS membership "
                      "JOIN pg_catalog.pg_roles AS parent "
                      "ON parent.oid OPERATOR(pg_catalog.=) membership.roleid "
                      "WHERE membership.member OPERATOR(pg_catalog.=) role.oid "
                      "AND parent.rolname OPERATOR(pg_catalog.=) 'rds_replication') AS may "
                      "FROM pg_catalog.pg_roles AS role "
                      "WHERE role.rolname OPERATOR(pg_catalog.=) {}",
                      role),
          kStatementTimeout));
  return row.rows() == 0 ? std::nullopt : std::optional(row.Bool(0, "may"));
}

// Whether a role that exists may read a table that exists.
absl::StatusOr<bool> MaySelect(PgConnection& connection, const std::string& role, uint32_t table) {
  WR_ASSIGN_OR_RETURN(
      const PgResult row,
      connection.Query(fmt::format("SELECT pg_catalog.has_table_privilege({}, {}::pg_catalog.oid, "
                                   "'SELECT') AS may",
                                   QuoteLiteral(role), table),
                       kStatementTimeout));
  return row.Bool(0, "may");
}

// Whether the role has what GrantPruning() grants. A table that does not exist has no privileges.
absl::StatusOr<bool> MayPrune(PgConnection& connection, const SourceConfig& source,
                              const PruneConfig& prune, const std::string& role, bool exists) {
  if (!exists || prune.mode == PruneMode::kOff) {
    return false;
  }
  for (const OutboxTable& table : source.tables) {
    const std::string args = fmt::format("{}, pg_catalog.to_regclass({})::pg_catalog.oid",
                                         QuoteLiteral(role), QuoteLiteral(QualifiedName(table)));
    const std::string change =
        prune.mode == PruneMode::kDelete
            ? fmt::format("pg_catalog.has_table_privilege({}, 'DELETE')", args)
            : fmt::format("pg_catalog.has_column_privilege({}, {}, 'UPDATE')", args,
                          QuoteLiteral(prune.mark_column));
    WR_ASSIGN_OR_RETURN(
        const PgResult row,
        connection.Query(fmt::format("SELECT pg_catalog.has_table_privilege({}, 'SELECT') AND {} "
                                     "AS may",
                                     args, change),
                         kStatementTimeout));
    if (!table.name.empty() && !row.Bool(0, "may")) {
      return false;
    }
  }
  return true;
}

absl::StatusOr<const Platform*> FindPlatform(PgConnection& connection) {
  for (const Platform& platform : Platforms()) {
    if (platform.marker.empty()) {
      continue;
    }
    WR_ASSIGN_OR_RETURN(const bool found,
                        Exists(connection, "pg_roles", "rolname", std::string(platform.marker)));
    if (found) {
      return &platform;
    }
  }
  return &Platforms().front();
}

// The names of the steps planned so far, which a following step needs.
std::vector<std::string> NamesOf(const std::vector<SetupStep>& steps) {
  std::vector<std::string> names;
  for (const SetupStep& step : steps) {
    names.push_back(step.what);
  }
  return names;
}

// A step of its own for each table: the owner of a table that exists may be another role than the
// one that runs setup, and nothing else depends on the privilege. `objects`: as for PlanRole().
absl::Status PlanGrants(PgConnection& connection, const SourceConfig& source,
                        const std::string& role, bool role_exists,
                        const std::vector<TableInfo>& tables, std::vector<std::string> objects,
                        std::vector<SetupStep>& steps) {
  objects.push_back(fmt::format("role {}", role));
  for (size_t i = 0; i < tables.size(); ++i) {
    if (tables[i].name.empty()) {
      continue;
    }
    if (role_exists && tables[i].oid != 0) {
      WR_ASSIGN_OR_RETURN(const bool may, MaySelect(connection, role, tables[i].oid));
      if (may) {
        continue;
      }
    }
    steps.push_back(
        {fmt::format("SELECT on table {}.{} for role {}", tables[i].schema, tables[i].name, role),
         GrantSelect(source.tables[i], role), objects});
  }
  return absl::OkStatus();
}

// `objects`: the steps that create schemas and tables. Without one of them, the role cannot be
// granted its use. The replication privilege comes last: with it, a role without superuser rights
// could not set the password on Postgres 15 and older.
absl::Status PlanRole(PgConnection& connection, const SourceConfig& source,
                      const SetupOptions& options, const std::vector<TableInfo>& tables,
                      const std::vector<std::string>& objects, SetupPlan& plan) {
  WR_ASSIGN_OR_RETURN(const std::optional<bool> may,
                      MayReplicate(connection, QuoteLiteral(options.role)));
  const std::string what = fmt::format("role {}", options.role);
  if (!may) {
    plan.steps.push_back({what, CreateRole(source, options.role), objects});
  }
  WR_RETURN_IF_ERROR(
      PlanGrants(connection, source, options.role, may.has_value(), tables, objects, plan.steps));
  if (!options.password.empty()) {
    WR_ASSIGN_OR_RETURN(const std::string hash, PasswordHash(connection, options));
    plan.steps.push_back({fmt::format("password of role {}", options.role),
                          fmt::format("ALTER ROLE {} PASSWORD {};", QuoteIdentifier(options.role),
                                      QuoteLiteral(hash)),
                          {what},
                          /*secret=*/true});
  }
  const bool exists = may.has_value();
  WR_ASSIGN_OR_RETURN(const bool granted,
                      MayPrune(connection, source, options.prune, options.role, exists));
  if (std::string sql = GrantPruning(source, options.prune, options.role);
      !sql.empty() && !granted) {
    plan.steps.push_back({fmt::format("pruning privileges of role {}", options.role),
                          std::move(sql), NamesOf(plan.steps)});
  }
  if (!may.value_or(false)) {
    plan.steps.push_back({fmt::format("replication privilege of role {}", options.role),
                          GrantReplication(*plan.platform, options.role),
                          {what}});
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
    steps.push_back(
        {fmt::format("table {}", name), CreateTable(source.tables[i], options), NamesOf(steps)});
  }
  return absl::OkStatus();
}

// A publication that exists is changed as little as possible: its other tables and options belong
// to the operator.
void PlanPublication(const SourceConfig& source, const PublicationInfo& publication,
                     const std::vector<TableInfo>& tables, std::vector<SetupStep>& steps) {
  const std::string name = QuoteIdentifier(source.publication);
  if (!publication.exists) {
    steps.push_back(
        {fmt::format("publication {}", name), CreatePublication(source), NamesOf(steps)});
    return;
  }
  for (size_t i = 0; i < tables.size(); ++i) {
    if (!tables[i].published && !tables[i].name.empty()) {
      steps.push_back(
          {fmt::format("add table {}.{} to publication {}", tables[i].schema, tables[i].name, name),
           fmt::format("ALTER PUBLICATION {} ADD TABLE {};", name, QualifiedName(source.tables[i])),
           NamesOf(steps)});
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

absl::Status CheckWalLevel(PgConnection& connection, const Platform& platform) {
  WR_ASSIGN_OR_RETURN(const PgResult row, connection.Query("SHOW wal_level", kStatementTimeout));
  const std::string_view level = row.Text(0, "wal_level");
  return level == "logical"
             ? absl::OkStatus()
             : Error(ErrorCode::kWalLevel,
                     fmt::format("wal_level is {}; nothing was changed", Printable(level, 20)),
                     OneLine(platform.settings));
}

// On some platforms the administrator has to get the privilege before it can create a slot.
absl::Status PlanSlot(PgConnection& connection, const SourceConfig& source,
                      const SetupOptions& options, SetupPlan& plan) {
  WR_ASSIGN_OR_RETURN(const std::optional<bool> may, MayReplicate(connection, "CURRENT_USER"));
  if (plan.platform->administrator_grants_itself && !may.value_or(false)) {
    plan.steps.push_back(
        {"replication privilege of the current role", std::string(kGrantToItself)});
  }
  std::vector<std::string> needs = NamesOf(plan.steps);
  plan.steps.push_back({.what = fmt::format("slot {}", source.slot),
                        .sql = CreateSlot(source, options),
                        .needs = std::move(needs),
                        .creates_slot = true});
  return absl::OkStatus();
}

// Whether a step that this one needs was not executed.
bool NeedsMissing(const SetupStep& step, const SetupOutcome& outcome) {
  return std::any_of(outcome.missing.begin(), outcome.missing.end(), [&](const SetupStep& each) {
    return std::find(step.needs.begin(), step.needs.end(), each.what) != step.needs.end();
  });
}

}  // namespace

std::string SetupScript(const SourceConfig& source, const SetupOptions& options) {
  const std::string role = options.role.empty() ? "walrelay" : options.role;
  const Platform& platform = options.platform != nullptr ? *options.platform : Platforms().front();
  std::string out = fmt::format(
      "-- walrelay setup: run once, in this order, in the database, as {}.\n{}\n"
      "-- 1. The outbox table, unless it exists. Other column names are possible: see "
      "[source.columns] in\n--    docs/configuration.md.\n",
      platform.administrator, Comment(platform.settings));
  for (const std::string& schema : Schemas(source)) {
    out += schema == "public" ? "" : CreateSchema(schema) + "\n";
  }
  for (const OutboxTable& table : source.tables) {
    out += table.name.empty() ? "-- No table: events are logical messages.\n"
                              : CreateTable(table, options) + "\n";
  }
  out += fmt::format(
      "\n-- 2. The publication, before the slot. Inserts only, so that deleting old rows stays "
      "cheap.\n{}\n",
      CreatePublication(source));
  out += fmt::format(
      "\n-- 3. The slot. From now on Postgres retains the WAL of events not yet published.\n{}{}\n",
      platform.administrator_grants_itself ? fmt::format("{}\n", kGrantToItself) : "",
      CreateSlot(source, options));
  std::string grants;
  for (const OutboxTable& table : source.tables) {
    grants += table.name.empty() ? "" : GrantSelect(table, role) + "\n";
  }
  out += fmt::format(
      "\n-- 4. A role for walrelay. Like every role with REPLICATION, it can read all changes in "
      "the\n"
      "--    database. SELECT is for counting rows: publishing needs no privilege on any table. "
      "Set "
      "its\n--    password: \\password {}\n"
      "{}\n{}{}\n",
      Printable(role), CreateRole(source, role), grants, GrantReplication(platform, role));
  if (platform.has_pg_hba) {
    out += fmt::format("--    pg_hba.conf: hostssl DATABASE {} ADDRESS scram-sha-256\n",
                       Printable(role));
  }
  if (const std::string sql = GrantPruning(source, options.prune, role); !sql.empty()) {
    out += fmt::format("\n-- 5. The privileges for [prune].\n{}\n", sql);
  }
  return out;
}

// In the order in which the steps must run: the publication must exist before the slot.
absl::StatusOr<SetupPlan> PlanSetup(PgConnection& connection, const SourceConfig& source,
                                    const SetupOptions& options) {
  WR_ASSIGN_OR_RETURN(const PublicationInfo publication,
                      ReadPublicationInfo(connection, source.publication, kStatementTimeout));
  WR_ASSIGN_OR_RETURN(
      const std::vector<TableInfo> tables,
      ReadTableInfo(connection, source.publication, source.tables, kStatementTimeout));
  WR_ASSIGN_OR_RETURN(const std::optional<SlotInfo> slot,
                      ReadSlotInfo(connection, source.slot, kStatementTimeout));
  SetupPlan plan{.platform = options.platform};
  if (plan.platform == nullptr) {
    WR_ASSIGN_OR_RETURN(plan.platform, FindPlatform(connection));
  }
  if (options.create_table) {
    WR_RETURN_IF_ERROR(PlanSchemas(connection, source, plan.steps));
  }
  WR_RETURN_IF_ERROR(PlanTables(source, options, tables, plan.steps));
  const std::vector<std::string> objects = NamesOf(plan.steps);
  PlanPublication(source, publication, tables, plan.steps);
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
    WR_RETURN_IF_ERROR(CheckWalLevel(connection, *plan.platform));
    WR_RETURN_IF_ERROR(PlanSlot(connection, source, options, plan));
  }
  if (!options.role.empty()) {
    WR_RETURN_IF_ERROR(PlanRole(connection, source, options, tables, objects, plan));
  }
  return plan;
}

absl::StatusOr<SetupOutcome> ExecuteSetup(PgConnection& connection, const SetupPlan& plan) {
  SetupOutcome outcome;
  for (const SetupStep& step : plan.steps) {
    if (NeedsMissing(step, outcome)) {
      outcome.missing.push_back(step);
      outcome.reasons.emplace_back();
      continue;
    }
    const absl::Status status = connection.Query(step.sql, kStepTimeout).status();
    if (HasCode(status, ErrorCode::kNoReplicationRole)) {
      outcome.missing.push_back(step);
      outcome.reasons.push_back(MessageOf(status));
      continue;
    }
    WR_RETURN_IF_ERROR(Annotate(status, step.what));
    outcome.done.push_back(step);
  }
  return outcome;
}

std::string MissingScript(const SetupOutcome& outcome, const Platform& platform,
                          std::string_view role, std::string_view database) {
  std::string out = fmt::format(
      "-- Missing: role {} lacks the privilege for the following statements.\n"
      "-- Run them in database {}, in this order, as {}.\n",
      Printable(role), Printable(database), platform.administrator);
  for (size_t i = 0; i < outcome.missing.size(); ++i) {
    const SetupStep& step = outcome.missing[i];
    const std::string& reason = outcome.reasons[i];
    out += fmt::format("\n-- {}{}{}\n{}\n", Printable(step.what), reason.empty() ? "" : ": ",
                       Printable(reason), step.sql);
  }
  return out;
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
