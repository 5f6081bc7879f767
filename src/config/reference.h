// The configuration as text: docs/configuration.md, and `walrelay config show`.
//
// Pure. Both texts list the options in the order of Options().
#pragma once

#include <string>

#include "config/option.h"

namespace walrelay {

struct LoadedConfig;

// The reference of all options in Markdown. A test compares docs/configuration.md with it.
std::string ConfigReference();

// One option for `walrelay explain`: type, default, meaning, and how to set it.
std::string OptionReference(const Option& option);

// The values in force as TOML that loads to the same configuration, each option with its origin;
// secrets are masked.
// With several tables the options of a single table are omitted, and each table is an element of
// [[source.tables]]. An option without a value (`auto`) is a comment, because TOML has no null.
// Masked secrets mean that the text alone is not a working configuration.
std::string ShowConfig(const LoadedConfig& loaded);

}  // namespace walrelay
