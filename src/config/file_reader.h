// Reads walrelay.toml into a Config. Part of the loader.
//
// Only its implementation includes the TOML library, which is large.
#pragma once

#include "absl/status/status.h"
#include "config/loader.h"

namespace walrelay {

// Errors start with "file:line:column". Does nothing without a file.
// "Without a file": `input.file_text` is empty. Sets the option values of `out` and their origins
// as "file:line:column"; ranges and constraints between values are checked later by
// ValidateConfig().
// Errors: WR-1001 for invalid TOML and for a key of 250 parts or more, which the TOML library would
// destroy recursively; WR-1002 for an unknown or renamed key; WR-1003 for a value of another type,
// a config_version other than 1, and a string with a zero byte, which C libraries would cut off.
// Returns the first error; `out` is unusable after it.
absl::Status ReadConfigFile(const ConfigInput& input, LoadedConfig& out);

}  // namespace walrelay
