// What can be known to be wrong without a connection: what `run` refuses to start with, and all
// that `check --offline` looks at beyond the file itself.
#pragma once

#include "absl/status/status.h"
#include "walrelay/config.h"

namespace walrelay {

absl::Status CheckOffline(const Config& config);

}  // namespace walrelay
