// `walrelay init`: writes a walrelay.toml for an outbox table that exists.

#include <fmt/format.h>

#include "cli/commands.h"
#include "cli/config_flags.h"
#include "cli/new_file.h"
#include "config/loader.h"
#include "outbox/mapping_toml.h"
#include "outbox/table_mapping.h"
#include "postgres/session.h"
#include "setup/table_inspection.h"
#include "walrelay/config.h"

namespace walrelay {
namespace {

struct InitFlags {
  ConfigFlags config;  // `table` is unused
  std::string from_table;
  std::string output;  // "": standard output
  bool force = false;  // replace an existing output
};

void Declare(FlagSet& set, InitFlags& flags) {
  set.Add("--from-table", flags.from_table, "[SCHEMA.]TABLE",
          "The table, whose columns and indexes are read from the catalog")
      .Required();
  set.Add("-o,--output", flags.output, "FILE",
          "Write to a new file (mode 0600); the default is standard output");
  set.Add("--force", flags.force, "With --output: replace an existing file");
  AddConfigFlags(set, flags.config);
}

constexpr std::chrono::seconds kQueryTimeout{10};

struct Initial {
  std::string toml;
  size_t decisions = 0;
};

absl::StatusOr<Initial> Inspect(const Config& config) {
  WR_ASSIGN_OR_RETURN(PgConnection connection, ConnectTo(config.source));
  WR_ASSIGN_OR_RETURN(const TableDescription table,
                      InspectTable(connection, config.source.tables.front(), kQueryTimeout));
  WR_ASSIGN_OR_RETURN(const TableMapping mapping, MapTable(table));
  return Initial{.toml = MappingToml(table, mapping, config.source, config.kafka),
                 .decisions = mapping.decisions.size()};
}

absl::StatusOr<Initial> Run(const InitFlags& flags) {
  ConfigFlags config_flags = ForChange(flags.config, !flags.output.empty());
  config_flags.table = flags.from_table;
  config_flags.needs = {.postgres = true, .kafka = false};
  WR_ASSIGN_OR_RETURN(const LoadedConfig loaded, LoadConfig(config_flags));
  return Inspect(loaded.config);
}

absl::StatusOr<ExitCode> Execute(const InitFlags& flags) {
  const auto initial = Run(flags);
  if (!initial.ok()) {
    // A table that cannot be an outbox is invalid input.
    const ExitCode code = Report(initial.status());
    return HasCode(initial.status(), ErrorCode::kTableUnsuitable) ? ExitCode::kData : code;
  }
  if (flags.output.empty()) {
    fmt::print("{}", initial->toml);
    return ExitCode::kOk;
  }
  WR_RETURN_IF_ERROR(WriteNewFile(flags.output, initial->toml, flags.force));
  fmt::print(stderr, "walrelay: wrote {}; decisions listed at its beginning: {}\n", flags.output,
             initial->decisions);
  return ExitCode::kOk;
}

}  // namespace

// Reads the catalog only, no row. 65 for a table that cannot be an outbox; nothing is written then.
// The file gets mode 0600; a password of the DSN is not written.
Command InitCommand() {
  return MakeCommand<InitFlags>(
      "init",
      "Write a configuration for an outbox table that exists: which column is which part of an "
      "event, with the reasons, and what to decide",
      Declare, Execute);
}

}  // namespace walrelay
