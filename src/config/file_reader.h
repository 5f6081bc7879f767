// Reads walrelay.toml into a Config. Part of the loader.
//
// Only its implementation includes the TOML library, which is large.
#pragma once

#include "absl/status/status.h"
#include "config/loader.h"

namespace walrelay {

// Errors start with "file:line:column". Does nothing without a file.
absl::Status ReadConfigFile(const ConfigInput& input, LoadedConfig& out);

}  // namespace walrelay
