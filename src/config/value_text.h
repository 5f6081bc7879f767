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
// No sign, no spaces, and one unit only: "1h30m" is not a duration. Never negative.
std::optional<Micros> ParseDuration(std::string_view text);
// In the same form: "597s". For people see FormatDuration() in base/text.h.
// In the largest unit that leaves no fraction; "0" for 0. ParseDuration() returns the same value.
// REQUIRES: duration >= 0.
std::string FormatConfigDuration(Micros duration);

// A whole number and one of B, KiB, MiB, GiB, or none for bytes.
// Units are powers of 1024; "MB" is not one. nullopt for anything else, a negative number, and more
// than 2^63 - 1 bytes; "0" is 0.
std::optional<int64_t> ParseSize(std::string_view text);
// In the largest unit that leaves no fraction, "B" for a size that is no multiple of 1024, and "0"
// for 0. ParseSize() returns the same value. REQUIRES: bytes >= 0.
std::string FormatSize(int64_t bytes);

}  // namespace walrelay
