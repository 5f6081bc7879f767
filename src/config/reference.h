// The configuration for people: docs/configuration.md, and `walrelay config show`.
#pragma once

#include <string>

#include "config/loader.h"

namespace walrelay {

// The reference of all options in Markdown. A test holds docs/configuration.md against it.
std::string ConfigReference();

// The values in force as TOML that loads as the same, each option with where it came from; secrets
// masked.
std::string ShowConfig(const LoadedConfig& loaded);

}  // namespace walrelay
