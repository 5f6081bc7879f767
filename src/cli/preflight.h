// Checks that need no connection: `run` refuses to start if one fails, and `check --offline` runs
// them after it reads the file.
#pragma once

#include "absl/status/status.h"
#include "walrelay/config.h"

namespace walrelay {

absl::Status CheckOffline(const Config& config);

}  // namespace walrelay
