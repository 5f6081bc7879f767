#include "setup/setup_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <optional>
#include <utility>

#include "base/quote.h"
#include "base/text.h"
#include "postgres/catalog_queries.h"
#include "postgres/outbox_tables.h"
#include "setup/setup_statements.h"
#include "walrelay/config/prune.h"
#include "walrelay/config/source.h"
#include "walrelay/error.h"

namespace walrelay {
namespace {

// A lock that another session holds on a table delays setup, but not for long.
constexpr std::chrono::seconds kPlanTimeout{30};

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
                       kPlanTimeout));
  return row.rows() > 0;
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
          kPlanTimeout));
  return row.rows() == 0 ? std::nullopt : std::optional(row.Bool(0, "may"));
}

// Whether a role that exists may read a table that exists.
absl::StatusOr<bool> MaySelect(PgConnection& connection, const std::string& role, uint32_t table) {
  WR_ASSIGN_OR_RETURN(
      const PgResult row,
      connection.Query(fmt::format("SELECT pg_catalog.has_table_privilege({}, {}::pg_catalog.oid, "
                                   "'SELECT') AS may",
                                   QuoteLiteral(role), table),
                       kPlanTimeout));
  return row.Bool(0, "may");
}

// Whether the role has what GrantPruning() grants. A table that does not exist has no privileges.
absl::StatusOr<bool> MayPrune(PgConnection& connection, const SourceConfig& source,
                              const PruneConfig& prune, const std::string& role, bool exists) {
  if (!exists || !NeedsGrants(prune)) {
    return false;
  }
  for (const OutboxTable& table : source.tables) {
    const std::string args = fmt::format("{}, pg_catalog.to_regclass({})::pg_catalog.oid",
                                         QuoteLiteral(role), QuoteLiteral(QuotedName(table)));
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
                         kPlanTimeout));
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

// `role`: quoted; 'public' for a role that does not exist yet.
absl::StatusOr<bool> MayConnect(PgConnection& connection, const std::string& role) {
  WR_ASSIGN_OR_RETURN(
      const PgResult row,
      connection.Query(fmt::format("SELECT pg_catalog.has_database_privilege({}, "
                                   "pg_catalog.current_database()::pg_catalog.text, 'CONNECT') "
                                   "AS may",
                                   role),
                       kPlanTimeout));
  return row.Bool(0, "may");
}

// A step of its own for each table: the owner of a table that exists may be another role than the
// one that runs setup, and nothing else depends on the privilege. `objects`: as for PlanRole().
absl::Status PlanGrants(PgConnection& connection, const SourceConfig& source,
                        const std::string& role, bool role_exists,
                        const std::vector<TableInfo>& tables, std::vector<std::string> objects,
                        std::vector<SetupStep>& steps) {
  objects.push_back(fmt::format("role {}", role));
  // Hardened databases revoke it from PUBLIC.
  WR_ASSIGN_OR_RETURN(const bool connects,
                      MayConnect(connection, role_exists ? QuoteLiteral(role) : "'public'"));
  if (!connects) {
    const std::string database = connection.database();
    steps.push_back({fmt::format("CONNECT on database {} for role {}", database, role),
                     GrantConnect(database, role), objects});
  }
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
    WR_ASSIGN_OR_RETURN(const std::string hash,
                        connection.HashPassword(options.role, options.password.Reveal()));
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
  for (const std::string& schema : SchemasOf(source)) {
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
    steps.push_back({fmt::format("table {}", name),
                     CreateTable(source.tables[i], options.partitions, options.max_record_bytes),
                     NamesOf(steps)});
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
           AddToPublication(source, source.tables[i]), NamesOf(steps)});
    }
  }
  if (!publication.publishes_insert) {
    steps.push_back({fmt::format("set publication {} to publish inserts", name),
                     fmt::format("ALTER PUBLICATION {} SET (publish = '{}');", name,
                                 PublishedOperations(source))});
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
  WR_ASSIGN_OR_RETURN(const PgResult row, connection.Query("SHOW wal_level", kPlanTimeout));
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
                        .sql = CreateSlot(source, options.failover),
                        .needs = std::move(needs),
                        .creates_slot = true});
  return absl::OkStatus();
}

}  // namespace

// In the order in which the steps must run: the publication must exist before the slot.
absl::StatusOr<SetupPlan> PlanSetup(PgConnection& connection, const SourceConfig& source,
                                    const SetupOptions& options) {
  WR_ASSIGN_OR_RETURN(const PublicationInfo publication,
                      ReadPublicationInfo(connection, source.publication, kPlanTimeout));
  WR_ASSIGN_OR_RETURN(const std::vector<TableInfo> tables,
                      ReadTableInfo(connection, source.publication, source.tables, kPlanTimeout));
  WR_ASSIGN_OR_RETURN(const std::optional<SlotInfo> slot,
                      ReadSlotInfo(connection, source.slot, kPlanTimeout));
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

}  // namespace walrelay
