// Checks that need no connection: `run` refuses to start if one fails, and `check --offline` runs
// them after it reads the file.
#pragma once

#include "absl/status/status.h"
#include "walrelay/config.h"

namespace walrelay {

// REQUIRES: ValidateConfig() accepted `config`. Returns the first error: WR-1003, WR-1005, WR-1006,
// WR-3005 for the dead-letter topic, WR-4006. Reads password files, but connects to nothing.
absl::Status CheckOffline(const Config& config);

}  // namespace walrelay
