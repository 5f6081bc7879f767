// `walrelay init`: writes a walrelay.toml for an outbox table that exists.

#include <fmt/format.h>

#include "cli/commands.h"
#include "cli/new_file.h"
#include "config/loader.h"
#include "outbox/mapping_toml.h"
#include "outbox/table_mapping.h"
#include "postgres/session.h"
#include "setup/table_inspection.h"

namespace walrelay {
namespace {

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
  return Initial{.toml = MappingToml(table, mapping, config),
                 .decisions = mapping.decisions.size()};
}

absl::StatusOr<Initial> Run(const InitFlags& flags) {
  ConfigFlags config_flags = ForChange(flags.config, !flags.output.empty());
  config_flags.table = flags.from_table;
  config_flags.needs = {.postgres = true, .kafka = false};
  WR_ASSIGN_OR_RETURN(const LoadedConfig loaded, LoadConfig(config_flags));
  return Inspect(loaded.config);
}

}  // namespace

ExitCode InitCommand(const InitFlags& flags) {
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
  if (const auto written = WriteNewFile(flags.output, initial->toml, flags.force); !written.ok()) {
    return Report(written);
  }
  fmt::print(stderr, "walrelay: wrote {}; decisions listed at its beginning: {}\n", flags.output,
             initial->decisions);
  return ExitCode::kOk;
}

}  // namespace walrelay
