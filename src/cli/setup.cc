// `walrelay setup`: prints or executes the SQL that prepares the database.

#include "postgres/setup.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>

#include "base/secret_file.h"
#include "cli/commands.h"
#include "postgres/connection_parameters.h"
#include "postgres/session.h"

namespace walrelay {
namespace {

// The password of --password-file or --password-stdin; empty without these flags.
absl::StatusOr<Secret> ReadPassword(const SetupFlags& flags) {
  if (flags.password_file.empty() && !flags.password_stdin) {
    return Secret();
  }
  WR_ASSIGN_OR_RETURN(Secret password, flags.password_stdin
                                           ? ReadSecret(STDIN_FILENO, "standard input")
                                           : ReadSecretFile(flags.password_file));
  if (password.empty()) {
    return Error(ErrorCode::kSecretFile,
                 flags.password_stdin ? "standard input: empty" : flags.password_file + ": empty");
  }
  return password;
}

absl::StatusOr<SetupOptions> OptionsOf(const SetupFlags& flags) {
  SetupOptions options{
      .create_table = flags.create_table, .role = flags.role, .failover = flags.failover};
  WR_ASSIGN_OR_RETURN(options.password, ReadPassword(flags));
  if (!flags.platform.empty()) {
    options.platform = PlatformNamed(flags.platform);
  }
  return options;
}

// With --dsn, setup logs in as another role than the relay, to which the password of the
// configuration file belongs. That role's password comes from libpq's sources, or from --set.
void ForgetPasswordOfTheFile(LoadedConfig& loaded) {
  const auto from_file = [&](const char* option) {
    const auto origin = loaded.origins.find(option);
    return !loaded.file_name.empty() && origin != loaded.origins.end() &&
           origin->second.text.starts_with(loaded.file_name);
  };
  if (from_file("source.password")) {
    loaded.config.source.password = Secret();
  }
  if (from_file("source.password_file")) {
    loaded.config.source.password_file.clear();
  }
  if (from_file("source.password_command")) {
    loaded.config.source.password_command.clear();
  }
}

// As comments: what remains outside of them is still to be executed.
void PrintDone(const SetupStep& step) {
  fmt::print("-- done: {}\n", step.what);
  for (size_t at = 0; at < step.sql.size() && !step.secret;) {
    const size_t end = std::min(step.sql.find('\n', at), step.sql.size());
    fmt::print("--   {}\n", step.sql.substr(at, end - at));
    at = end + 1;
  }
}

absl::Status Incomplete(const SetupOutcome& outcome, const Platform& platform,
                        const PgConnection& connection) {
  const std::string database = connection.database();
  fmt::print("\n{}", MissingScript(outcome, platform, connection.user(), database));
  std::string what;
  for (const SetupStep& step : outcome.missing) {
    what += (what.empty() ? "" : ", ") + step.what;
  }
  return Error(
      ErrorCode::kSetupIncomplete,
      fmt::format("role {} in database {}: {}", connection.user(), database, what),
      fmt::format("Have the SQL on standard output executed by {}, then run walrelay setup "
                  "--apply again: it executes or prints only what is missing.",
                  platform.administrator));
}

absl::Status Apply(const SourceConfig& source, const SetupOptions& options) {
  WR_ASSIGN_OR_RETURN(PgConnection connection, ConnectTo(source, ConnectionPurpose::kSetup));
  WR_ASSIGN_OR_RETURN(const SetupPlan plan, PlanSetup(connection, source, options));
  WR_ASSIGN_OR_RETURN(const SetupOutcome outcome, ExecuteSetup(connection, plan));
  std::for_each(outcome.done.begin(), outcome.done.end(), PrintDone);
  if (!outcome.missing.empty()) {
    return Incomplete(outcome, *plan.platform, connection);
  }
  fmt::print("{}\n", plan.steps.empty() ? "-- Nothing to do: the database is ready."
                                        : "-- Done: the database is ready.");
  // Not in the SQL: the server's log may contain the statement.
  if (!options.role.empty() && options.password.empty()) {
    fmt::print("-- Set the role's password: --password-file FILE, or \\password {}\n",
               options.role);
  }
  return absl::OkStatus();
}

}  // namespace

ExitCode SetupCommand(const SetupFlags& flags) {
  ConfigFlags config_flags = flags.config;
  // Printing the script needs no server.
  config_flags.needs = {.postgres = flags.apply, .kafka = false};
  auto loaded = LoadConfig(config_flags);
  if (!loaded.ok()) {
    return Report(loaded.status());
  }
  if (!flags.config.dsn.empty()) {
    ForgetPasswordOfTheFile(*loaded);
  }
  const auto options = OptionsOf(flags);
  if (!options.ok()) {
    return Report(options.status());
  }
  if (!flags.apply) {
    fmt::print("{}", SetupScript(loaded->config.source, *options));
    return ExitCode::kOk;
  }
  absl::Status status = CheckPostgresTransport(loaded->config.source);
  status.Update(status.ok() ? Apply(loaded->config.source, *options) : status);
  return status.ok() ? ExitCode::kOk : Report(status);
}

}  // namespace walrelay
