#include <fmt/format.h>

#include "cli/commands.h"
#include "config/reference.h"
#include "config/schema.h"

namespace walrelay {

ExitCode ConfigShowCommand(const ConfigCommandFlags& flags) {
  const auto loaded = LoadConfig(flags.config);
  if (!loaded.ok()) {
    return Report(loaded.status());
  }
  // Secrets are masked, so that the output can be attached to a report.
  fmt::print("{}", ShowConfig(*loaded));
  return ExitCode::kOk;
}

ExitCode ConfigDocsCommand() {
  fmt::print("{}", ConfigReference());
  return ExitCode::kOk;
}

ExitCode ConfigSchemaCommand() {
  fmt::print("{}\n", ConfigSchema());
  return ExitCode::kOk;
}

}  // namespace walrelay
