#include "cli/checked_config.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <utility>

#include "doctor/config_checks.h"
#include "walrelay/config.h"
#include "walrelay/error.h"

namespace walrelay {

std::function<void(const Finding&)> FindingPrinter() {
  // NO_COLOR as in no-color.org; here an empty value turns colours off too.
  const bool colour = isatty(STDOUT_FILENO) != 0 && std::getenv("NO_COLOR") == nullptr;
  return [colour](const Finding& finding) {
    fmt::print("{}", FindingText(finding, colour));
    std::fflush(stdout);
  };
}

absl::StatusOr<Config> LoadChecked(const ConfigFlags& flags, Findings& findings) {
  // Before any connection: an invalid configuration is reported without touching a server, as `run`
  // does.
  WR_ASSIGN_OR_RETURN(LoadedConfig loaded, LoadCheckedConfig(flags));
  findings.Good("config.complete", "the configuration is complete and consistent");
  CheckSecretsAreKept(loaded, findings);
  CheckCredentials(loaded.config, findings);
  if (!loaded.import_summary.empty()) {
    findings.Good("config.imported", loaded.import_summary);
  }
  return std::move(loaded.config);
}

}  // namespace walrelay
