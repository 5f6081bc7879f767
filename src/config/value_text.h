// The text form of values: durations "30s", sizes "64MiB".
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "walrelay/clock.h"

namespace walrelay {

// A whole number and one of us, ms, s, m, h; or "0". nullopt for anything else and on overflow.
// Whole numbers only: "1.5s" is written "1500ms".
std::optional<Micros> ParseDuration(std::string_view text);
// In the same form: "597s". For people see FormatDuration() in base/text.h.
std::string FormatConfigDuration(Micros duration);

// A whole number and one of B, KiB, MiB, GiB, or none for bytes.
std::optional<int64_t> ParseSize(std::string_view text);
std::string FormatSize(int64_t bytes);

}  // namespace walrelay
