// The text form of values: durations "30s", sizes "64MiB".
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "walrelay/clock.h"

namespace walrelay {

// Numbers with the units us, ms, s, m, h: "30s", "1.5s", "1h30m"; or "0" (absl::ParseDuration()).
// nullopt for anything else, a sign, a fraction of a microsecond, and on overflow. Never negative.
std::optional<Micros> ParseDuration(std::string_view text);
// How `text` is written if it is a number with another name of a unit: "25 sec" is "25s"; a number
// alone counts seconds. "" otherwise.
std::string NearestDuration(std::string_view text);
// In the same form: "597s". For people see FormatDuration() in base/text.h.
// In the largest unit that leaves no fraction; "0" for 0. ParseDuration() returns the same value.
// REQUIRES: duration >= 0.
std::string FormatConfigDuration(Micros duration);

// A whole number and one of B, KiB, MiB, GiB, or none for bytes.
// Units are powers of 1024; "MB" is not one. nullopt for anything else, a negative number, and more
// than 2^63 - 1 bytes; "0" is 0.
std::optional<int64_t> ParseSize(std::string_view text);
// How `text` is written if it is a number with another name of a unit: "64 MB" is "64MiB". ""
// otherwise.
std::string NearestSize(std::string_view text);
// In the largest unit that leaves no fraction, "B" for a size that is not a multiple of 1024, and
// "0" for 0. ParseSize() returns the same value. REQUIRES: bytes >= 0.
std::string FormatSize(int64_t bytes);

}  // namespace walrelay
