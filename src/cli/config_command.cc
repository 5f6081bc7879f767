#include <fmt/format.h>

#include "cli/commands.h"
#include "cli/config_flags.h"
#include "config/reference.h"
#include "config/schema.h"

namespace walrelay {
namespace {

absl::StatusOr<ExitCode> Execute(const ConfigFlags& flags) {
  WR_ASSIGN_OR_RETURN(const LoadedConfig loaded, LoadConfig(flags));
  // Secrets are masked, so that the output can be attached to a report.
  fmt::print("{}", ShowConfig(loaded));
  return ExitCode::kOk;
}

absl::StatusOr<ExitCode> PrintDocs() {
  fmt::print("{}", ConfigReference());
  return ExitCode::kOk;
}

absl::StatusOr<ExitCode> PrintSchema() {
  fmt::print("{}\n", ConfigSchema());
  return ExitCode::kOk;
}

}  // namespace

// Fails like `run` for an invalid configuration.
Command ConfigCommand() {
  return MakeGroup(
      "config", "Show the configuration in effect, the reference of all options, or their schema",
      {MakeCommand<ConfigFlags>("show", "Print the values in effect and the origin of each",
                                AddConfigFlags, Execute),
       MakeCommand("docs", "Print the reference of all options as Markdown", PrintDocs),
       MakeCommand("schema",
                   "Print the JSON Schema of the configuration file, by which editors complete and "
                   "check it",
                   PrintSchema)});
}

}  // namespace walrelay
