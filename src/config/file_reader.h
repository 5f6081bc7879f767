// Reads walrelay.toml into a Config. Part of the loader.
#pragma once

#include "absl/status/status.h"
#include "config/loader.h"

namespace walrelay {

// Errors carry "file:line:column". Without a file does nothing.
absl::Status ReadConfigFile(const ConfigInput& input, LoadedConfig& out);

}  // namespace walrelay
