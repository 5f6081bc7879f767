// The text form of values: durations "30s", sizes "64MiB", quoted strings.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "walrelay/clock.h"

namespace walrelay {

// A whole number and one of us, ms, s, m, h; or "0". nullopt for anything else and on overflow.
std::optional<Micros> ParseDuration(std::string_view text);
std::string FormatDuration(Micros duration);

// A whole number and one of B, KiB, MiB, GiB, or none for bytes.
std::optional<int64_t> ParseSize(std::string_view text);
std::string FormatSize(int64_t bytes);

// A TOML basic string, quotes included.
std::string TomlString(std::string_view text);

}  // namespace walrelay
