// `walrelay setup`: prints or executes the SQL that prepares the database.

#include "postgres/setup.h"

#include <fmt/format.h>

#include "cli/commands.h"
#include "postgres/connection_parameters.h"
#include "postgres/session.h"

namespace walrelay {
namespace {

// Creating a logical slot waits until all transactions that are running at that moment have ended.
constexpr std::chrono::seconds kStepTimeout{60};

absl::Status Apply(const SourceConfig& source, const SetupOptions& options) {
  WR_ASSIGN_OR_RETURN(PgConnection connection, ConnectTo(source, ConnectionPurpose::kSetup));
  WR_ASSIGN_OR_RETURN(const std::vector<SetupStep> steps, PlanSetup(connection, source, options));
  // Each step commits separately, because a slot cannot be created in a transaction that has
  // written. The order is that of the plan: a publication must be older than the slot. After an
  // error, the next run plans what is still missing.
  for (const SetupStep& step : steps) {
    WR_RETURN_IF_ERROR(Annotate(connection.Query(step.sql, kStepTimeout).status(), step.what));
    fmt::print("{}\n    -- {}\n", step.sql, step.what);
  }
  fmt::print("{}\n", steps.empty() ? "-- Nothing to do: the database is ready."
                                   : "-- Done: the database is ready.");
  // Not in the SQL: the server's log may contain the statement.
  if (!options.role.empty()) {
    fmt::print("-- Set the role's password: \\password {}\n", options.role);
  }
  return absl::OkStatus();
}

}  // namespace

ExitCode SetupCommand(const SetupFlags& flags) {
  ConfigFlags config_flags = flags.config;
  // Printing the script needs no server.
  config_flags.needs = {.postgres = flags.apply, .kafka = false};
  const auto loaded = LoadConfig(config_flags);
  if (!loaded.ok()) {
    return Report(loaded.status());
  }
  const SetupOptions options{
      .create_table = flags.create_table, .role = flags.role, .failover = flags.failover};
  if (!flags.apply) {
    fmt::print("{}", SetupScript(loaded->config.source, options));
    return ExitCode::kOk;
  }
  absl::Status status = CheckPostgresTransport(loaded->config.source);
  status.Update(status.ok() ? Apply(loaded->config.source, options) : status);
  return status.ok() ? ExitCode::kOk : Report(status);
}

}  // namespace walrelay
