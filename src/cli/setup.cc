// `walrelay setup`: prints or executes the SQL that prepares the database.

#include "setup/setup.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>

#include "base/secret_file.h"
#include "base/system_clock.h"
#include "base/text.h"
#include "cli/commands.h"
#include "cli/config_flags.h"
#include "cli/progress_writer.h"
#include "config/choices.h"
#include "postgres/connection_parameters.h"
#include "postgres/session.h"
#include "prune/outbox_partitions.h"
#include "setup/setup_script.h"
#include "sinks/registry.h"
#include "walrelay/config.h"

namespace walrelay {
namespace {

// `role`: the role to create for walrelay; "": none. `password_file`: the file with its password;
// "": none. `platform`: a name of postgres/platform.h; "": found by the roles of the server, or a
// server of the operator's own.
struct SetupFlags {
  ConfigFlags config;
  bool apply = false;
  bool create_table = false;
  bool failover = false;
  bool password_stdin = false;
  std::string role;
  std::string password_file;
  std::string platform;
  std::string partitioned;  // the name of a PartitionPeriod; "": not partitioned
};

void Declare(FlagSet& set, SetupFlags& flags) {
  AddConfigFlags(set, flags.config);
  set.Add("--apply", flags.apply,
          "Execute the missing steps: first the publication, then the slot. Steps that the role "
          "may not execute are printed");
  set.Add("--create-table", flags.create_table,
          "With --apply: create the outbox table if it does not exist");
  set.Add("--partitioned", flags.partitioned, "PERIOD",
          "With --create-table: partition the table by the time of its rows, with partitions for "
          "the next periods; with --apply also create those that an existing table lacks")
      .OneOf({"hourly", "daily", "weekly", "monthly"});
  set.Add("--role", flags.role, "NAME", "With --apply: create this role for walrelay");
  set.Add("--password-file", flags.password_file, "FILE",
          "With --role: set the role's password to the content of this file, which other users "
          "must not be able to read. Postgres gets its hash")
      .Needs("--apply")
      .Needs("--role");
  set.Add("--password-stdin", flags.password_stdin,
          "The same, with the password from standard input")
      .Needs("--apply")
      .Needs("--role")
      .Excludes("--password-file");
  set.Add("--platform", flags.platform, "PLATFORM",
          "Where the server runs, if its SQL or its settings differ: rds, aurora, cloud-sql, azure "
          "or supabase (default with --apply: as found)")
      .OneOf({"rds", "aurora", "cloud-sql", "azure", "supabase"});
  set.Add("--failover", flags.failover,
          "Create a failover slot, synchronized to standbys (Postgres 17 and later)");
}

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

absl::StatusOr<SetupOptions> OptionsOf(const SetupFlags& flags, const Config& config) {
  SetupOptions options{.create_table = flags.create_table,
                       .max_record_bytes = config.limits().max_record_bytes,
                       .role = flags.role,
                       .failover = flags.failover,
                       .prune = config.prune};
  WR_ASSIGN_OR_RETURN(options.password, ReadPassword(flags));
  if (const auto period = ChoiceNamed<PartitionPeriod>(flags.partitioned)) {
    options.partitions = {.period = *period, .now = SystemClock().WallNow()};
  }
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

constexpr std::chrono::seconds kProgressPatience{10};

// For a slot of which setup does not know whether it was read before.
void NoteMissingRecord(const Config& config) {
  const auto address = ProgressAddressFor(config);
  if (!address.ok() || !config.has_brokers()) {
    return;
  }
  const auto reading = MakeSinkFactory(config)
                           ->OpenProgress({.patience = kProgressPatience})
                           ->ReadExisting(*address);
  if (HasCode(reading.status(), ErrorCode::kProgressMissing) ||
      (reading.ok() && !reading->record)) {
    fmt::print(
        "-- The relay requires a progress record, and there is none. If no relay has read the "
        "slot yet: walrelay progress init\n");
  }
}

// Setup has created the slot, so nothing was published before its position. Later that cannot be
// told.
void WriteFirstRecord(const Config& config) {
  const auto written = !config.has_brokers()
                           ? Error(ErrorCode::kConfigValue, "kafka.bootstrap_servers is not set")
                           : WritePlannedProgress(config, /*force=*/false, PlanProgressInit);
  if (written.ok()) {
    fmt::print("-- done: first progress record, at {}, in topic {}\n",
               written->record.frontier.ToString(), written->topic);
  } else if (HasCode(written.status(), ErrorCode::kUsage)) {
    fmt::print(stderr,
               "walrelay: warning: {}. It is of an earlier slot: the relay will hold (WR-2106) and "
               "ask for a decision. If nothing of it counts: walrelay progress init --force\n",
               MessageOf(written.status()));
  } else {
    fmt::print(stderr,
               "walrelay: warning: the first progress record is not written: {}\nThe relay does "
               "not start without it (WR-4018). When this is fixed: walrelay progress init\n",
               Explain(written.status()));
  }
}

// Only where the relay would not start without the record.
void PrepareProgress(const Config& config, const SetupOutcome& outcome) {
  if (!config.pipeline.requires_record()) {
    return;
  }
  const bool created = std::any_of(outcome.done.begin(), outcome.done.end(),
                                   [](const SetupStep& step) { return step.creates_slot; });
  if (created) {
    WriteFirstRecord(config);
  } else {
    NoteMissingRecord(config);
  }
}

// The partitions that a table lacks which existed before. Returns how many were created.
absl::StatusOr<size_t> CreatePartitions(PgConnection& connection, const SourceConfig& source,
                                        const NewPartitions& partitions) {
  const PartitionPolicy policy{.period = partitions.period, .ahead = UsualAhead(partitions.period)};
  size_t created = 0;
  for (const OutboxTable& table : source.tables) {
    WR_ASSIGN_OR_RETURN(const PartitionChanges changes,
                        MaintainPartitions(connection, table, std::nullopt, policy,
                                           PruneAction::kApply, partitions.now));
    created += changes.created.size();
    for (const std::string& name : changes.created) {
      fmt::print("-- done: partition {}\n", Printable(name, 63));
    }
    for (const auto& [name, reason] : changes.problems) {
      fmt::print(stderr, "walrelay: warning: partition {} was not created: {}\n",
                 Printable(name, 63), Printable(reason));
    }
  }
  return created;
}

absl::Status Apply(const Config& config, const SetupOptions& options) {
  const SourceConfig& source = config.source;
  WR_ASSIGN_OR_RETURN(PgConnection connection, ConnectTo(source, ConnectionPurpose::kSetup));
  WR_ASSIGN_OR_RETURN(const SetupPlan plan, PlanSetup(connection, source, options));
  WR_ASSIGN_OR_RETURN(const SetupOutcome outcome, ExecuteSetup(connection, plan));
  std::for_each(outcome.done.begin(), outcome.done.end(), PrintDone);
  if (!outcome.missing.empty()) {
    return Incomplete(outcome, *plan.platform, connection);
  }
  size_t partitions = 0;
  if (options.partitions) {
    WR_ASSIGN_OR_RETURN(partitions, CreatePartitions(connection, source, *options.partitions));
  }
  PrepareProgress(config, outcome);
  fmt::print("{}\n", plan.steps.empty() && partitions == 0
                         ? "-- Nothing to do: the database is ready."
                         : "-- Done: the database is ready.");
  // Not in the SQL: the server's log may contain the statement.
  if (!options.role.empty() && options.password.empty()) {
    fmt::print("-- Set the role's password: --password-file FILE, or \\password {}\n",
               options.role);
  }
  return absl::OkStatus();
}

absl::StatusOr<ExitCode> Execute(const SetupFlags& flags) {
  ConfigFlags config_flags = ForChange(flags.config, flags.apply);
  // Printing the script needs no server.
  config_flags.needs = {.postgres = flags.apply, .kafka = false};
  WR_ASSIGN_OR_RETURN(LoadedConfig loaded, LoadConfig(config_flags));
  if (!flags.config.dsn.empty()) {
    ForgetPasswordOfTheFile(loaded);
  }
  WR_ASSIGN_OR_RETURN(const SetupOptions options, OptionsOf(flags, loaded.config));
  if (!flags.apply) {
    fmt::print("{}", SetupScript(loaded.config.source, options));
    if (loaded.config.pipeline.requires_record()) {
      fmt::print("\n-- Then write the first progress record: walrelay progress init\n");
    }
    return ExitCode::kOk;
  }
  WR_RETURN_IF_ERROR(Apply(loaded.config, options));
  return ExitCode::kOk;
}

}  // namespace

// Without `apply` it prints the SQL and connects to nothing. With `apply` the steps run one by one,
// not in one transaction: Postgres cannot create a logical slot in a transaction that has written.
// The steps that succeeded remain after an error; a further run executes the missing ones. 77 if
// the role lacks a privilege for a step: the SQL of the missing steps is printed for an
// administrator, and what was executed is printed as comments, so that standard output is a valid
// script.
Command SetupCommand() {
  return MakeCommand<SetupFlags>(
      "setup", "Print the SQL that prepares the database; --apply executes it", Declare, Execute);
}

}  // namespace walrelay
