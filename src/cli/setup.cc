// `walrelay setup`: prints or executes the SQL that prepares the database.

#include "postgres/setup.h"

#include <fmt/format.h>

#include "cli/commands.h"
#include "postgres/connection_parameters.h"
#include "postgres/session.h"

namespace walrelay {
namespace {

constexpr std::chrono::seconds kStepTimeout{60};

absl::Status Apply(const SourceConfig& source, const SetupOptions& options) {
  WR_ASSIGN_OR_RETURN(PgConnection connection, ConnectTo(source, ConnectionPurpose::kSetup));
  WR_ASSIGN_OR_RETURN(const std::vector<SetupStep> steps, PlanSetup(connection, source, options));
  for (const SetupStep& step : steps) {
    WR_RETURN_IF_ERROR(Annotate(connection.Query(step.sql, kStepTimeout).status(), step.what));
    fmt::print("{}\n    -- {}\n", step.sql, step.what);
  }
  fmt::print("{}\n", steps.empty() ? "-- Nothing to do: the database is ready."
                                   : "-- Done: the database is ready.");
  if (!options.role.empty()) {
    fmt::print("-- Set the role's password: \\password {}\n", options.role);
  }
  return absl::OkStatus();
}

}  // namespace

ExitCode SetupCommand(const SetupFlags& flags) {
  ConfigFlags config_flags = flags.config;
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
