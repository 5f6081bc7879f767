// Reads the values of a TOML file as the values of options.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "config/file_problems.h"
#include "config/option_value.h"
#include "config/toml_library.h"

namespace walrelay {

// Floating-point numbers, dates and nested arrays have no option, and become nullopt.
std::optional<RawValue> ToRaw(const toml::node& node);

// The name of a kind of value that no option accepts, for messages.
std::string_view KindOf(const toml::node& node);

// The value of a property that belongs to librdkafka or to the brokers. Numbers and booleans are
// accepted, because their documentation writes them without quotes. nullopt after an error.
std::optional<std::string> ReadScalar(const toml::key& key, const toml::node& node,
                                      FileProblems& problems);

// The column that a block is about: one name, or several. nullopt after an error. `what`: the key,
// for messages.
std::optional<ColumnNames> ReadColumn(const toml::node& node, std::string_view what,
                                      FileProblems& problems);

}  // namespace walrelay
