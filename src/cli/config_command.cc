#include <fmt/format.h>

#include "cli/commands.h"
#include "config/reference.h"

namespace walrelay {

ExitCode ConfigShowCommand(const ConfigCommandFlags& flags) {
  const auto loaded = LoadConfig(flags.config);
  if (!loaded.ok()) {
    return Report(loaded.status());
  }
  fmt::print("{}", ShowConfig(*loaded));
  return ExitCode::kOk;
}

ExitCode ConfigDocsCommand() {
  fmt::print("{}", ConfigReference());
  return ExitCode::kOk;
}

}  // namespace walrelay
