// `walrelay check` and `walrelay doctor` share this: both run the same checks at different depths
// and print one line per finding, with a remedy for each problem.
#pragma once

#include <functional>

#include "absl/status/statusor.h"
#include "cli/config_flags.h"
#include "findings/findings.h"
#include "walrelay/config.h"

namespace walrelay {

// Prints each finding to standard output as soon as it is reported, in colour on a terminal.
std::function<void(const Finding&)> FindingPrinter();

// LoadCheckedConfig(), with findings about the configuration itself. Connects to nothing.
absl::StatusOr<Config> LoadChecked(const ConfigFlags& flags, Findings& findings);

}  // namespace walrelay
