// `walrelay import debezium`: converts a connector's configuration to walrelay.toml on standard
// output, and reports the result for each property on standard error.

#include <fmt/format.h>

#include "cli/commands.h"
#include "cli/config_flags.h"
#include "cli/new_file.h"
#include "config/loader.h"
#include "debezium/debezium_import.h"
#include "debezium/debezium_report.h"
#include "route/topic_router.h"
#include "walrelay/config.h"

namespace walrelay {
namespace {

struct ImportFlags {
  ConfigFlags config;  // settings that override the file; `file` is unused
  std::string file;    // "-": standard input
  std::string output;  // "": standard output, without secrets
  bool force = false;  // replace an existing output
  bool allow_lossy = false;
};

void Declare(FlagSet& set, ImportFlags& flags) {
  set.Add("file", flags.file, "FILE", "The connector's configuration file; - for standard input")
      .Required();
  set.Add("-o,--output", flags.output, "FILE",
          "Write to a new file (mode 0600), passwords included; the default is standard output, "
          "without passwords");
  set.Add("--force", flags.force, "With --output: replace an existing file");
  set.Add("--allow-lossy", flags.allow_lossy,
          "Write a configuration even if some properties are refused, without them");
  AddSettingFlags(set, flags.config);
}

// The operator's settings are known to the import before it translates: a property that it could
// not translate is not refused if a setting replaces it.
absl::StatusOr<DebeziumImport> Import(const ImportFlags& flags) {
  WR_ASSIGN_OR_RETURN(const std::string connector,
                      ReadTextFile(flags.file == "-" ? "/dev/stdin" : flags.file));
  WR_ASSIGN_OR_RETURN(const std::string worker, ReadWorkerFile(flags.config));
  WR_ASSIGN_OR_RETURN(const auto overrides, Overrides(flags.config));
  ImportInput input{.connector = connector, .worker = worker};
  for (const auto& [name, value] : overrides) {
    input.overrides.insert(name);
  }
  auto import = ImportDebezium(input);
  WR_RETURN_IF_ERROR(Annotate(import.status(), flags.file));
  for (const auto& [name, value] : overrides) {
    import->translation.settings[name] = value;
  }
  return import;
}

// Checks that walrelay accepts the result. It need not be complete: addresses may come from flags
// or the environment.
absl::Status Check(const DebeziumTranslation& translation) {
  Config config;
  WR_RETURN_IF_ERROR(ApplyTranslation(translation, config));
  WR_RETURN_IF_ERROR(ValidateConfig(config, {.postgres = false, .kafka = false}));
  return TopicRouter::Create(config.route).status();
}

std::string CountOfRefused(size_t count) {
  return count == 1 ? "1 property was refused" : fmt::format("{} properties were refused", count);
}

// The error of a configuration that lacks required properties.
absl::Status WithoutRefused(const absl::Status& invalid, const absl::Status& refusal) {
  return Error(
      ErrorCode::kConnectorRefused,
      fmt::format("the configuration without the refused properties is invalid: {}; nothing was "
                  "written",
                  MessageOf(invalid)),
      RemedyFor(refusal));
}

// Exit code 65 (EX_DATAERR), whatever the error's own code is: the input is what is wrong.
ExitCode Refuse(const absl::Status& error) {
  fmt::print(stderr, "\n");
  Report(error);
  return ExitCode::kData;
}

absl::StatusOr<ExitCode> Execute(const ImportFlags& flags) {
  const auto import = Import(flags);
  if (!import.ok()) {
    // An input file that cannot be read, or an invalid flag, says nothing about the connector: it
    // keeps its own exit code.
    const bool unreadable = HasCode(import.status(), ErrorCode::kConfigFile) ||
                            HasCode(import.status(), ErrorCode::kUsage);
    return unreadable ? absl::StatusOr<ExitCode>(import.status()) : Refuse(import.status());
  }
  fmt::print(stderr, "{}", ImportReport(*import));
  const absl::Status refusal = RefusalOf(*import);
  if (!refusal.ok() && !flags.allow_lossy) {
    return Refuse(Error(ErrorCode::kConnectorRefused,
                        fmt::format("{} (see above); nothing was written",
                                    CountOfRefused(import->Count(PropertyOutcome::kRefused))),
                        RemedyFor(refusal)));
  }
  if (const absl::Status usable = Check(import->translation); !usable.ok()) {
    return Refuse(refusal.ok() ? usable : WithoutRefused(usable, refusal));
  }
  if (flags.output.empty()) {
    // Standard output often ends in a terminal's scrollback or a CI log.
    fmt::print("{}", ImportedToml(*import, /*with_secrets=*/false));
    return ExitCode::kOk;
  }
  const std::string toml = ImportedToml(*import, /*with_secrets=*/true);
  WR_RETURN_IF_ERROR(WriteNewFile(flags.output, toml, flags.force));
  return ExitCode::kOk;
}

}  // namespace

// The report goes to standard error, the TOML to standard output or to a file of mode 0600, which
// must not exist yet without `force`. 64 if it does; 65 if a property was refused (unless
// `allow_lossy` is set), or the result is not a valid configuration; nothing is written then.
Command ImportCommand() {
  return MakeGroup("import", "Convert another tool's configuration to walrelay.toml",
                   {MakeCommand<ImportFlags>(
                       "debezium",
                       "Convert a Debezium connector with the outbox EventRouter (Connect's JSON, "
                       "a KafkaConnector resource, or Debezium Server's application.properties). A "
                       "report per property goes to standard error",
                       Declare, Execute)});
}

}  // namespace walrelay
