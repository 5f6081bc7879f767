// The configuration as text: docs/configuration.md, and `walrelay config show`.
#pragma once

#include <string>

#include "config/loader.h"

namespace walrelay {

// The reference of all options in Markdown. A test compares docs/configuration.md with it.
std::string ConfigReference();

// The values in force as TOML that loads to the same configuration, each option with its origin;
// secrets are masked.
std::string ShowConfig(const LoadedConfig& loaded);

}  // namespace walrelay
