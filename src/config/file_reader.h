// Reads walrelay.toml into a Config. Part of the loader.
//
// Only its implementation includes the TOML library, which is large.
#pragma once

#include "absl/status/status.h"
#include "config/loader.h"

namespace walrelay {

// Does nothing without a file, that is if `input.file_text` is empty. Sets the option values of
// `out` and their origins as "file:line:column"; ranges and constraints between values are checked
// later by FindInvalidValues().
// Errors: WR-1001 for invalid TOML and for a key of 250 parts or more, which the TOML library would
// destroy recursively. Problems: WR-1002 for an unknown or renamed key; WR-1003 for a value of
// another type, a config_version other than 1, and a string with a zero byte, which C libraries
// would cut off.
absl::Status ReadConfigFile(const ConfigInput& input, LoadedConfig& out);

}  // namespace walrelay
