#include "config/value_text.h"

#include <fmt/format.h>

#include <charconv>
#include <limits>
#include <span>

#include "base/check.h"

namespace walrelay {
namespace {

struct Unit {
  std::string_view name;
  int64_t factor;
};

// From the largest to the smallest unit, as FormatInLargestUnit() needs them. Durations are counted
// in microseconds.
constexpr Unit kDurations[] = {
    {"h", 3'600'000'000}, {"m", 60'000'000}, {"s", 1'000'000}, {"ms", 1'000}, {"us", 1}};
// A number without unit is a number of bytes; a duration always needs a unit, except 0.
constexpr Unit kSizes[] = {{"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10}, {"B", 1}, {"", 1}};

// Units are matched as a whole, so that "m" is not taken for "ms".
std::optional<int64_t> Parse(std::string_view text, std::span<const Unit> units) {
  int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || number < 0) {
    return std::nullopt;
  }
  const std::string_view name = text.substr(static_cast<size_t>(end - text.data()));
  for (const Unit& unit : units) {
    if (unit.name == name) {
      // A product that overflows would become a small or negative limit.
      const bool fits = number <= std::numeric_limits<int64_t>::max() / unit.factor;
      return fits ? std::optional(number * unit.factor) : std::nullopt;
    }
  }
  return std::nullopt;
}

// In the largest unit that leaves no fraction.
std::string FormatInLargestUnit(int64_t value, std::span<const Unit> units) {
  for (const Unit& unit : units) {
    if (value >= unit.factor && value % unit.factor == 0) {
      return fmt::format("{}{}", value / unit.factor, unit.name);
    }
  }
  return fmt::format("{}", value);
}

}  // namespace

std::optional<Micros> ParseDuration(std::string_view text) {
  if (text == "0") {
    return Micros(0);
  }
  const auto micros = Parse(text, kDurations);
  return micros ? std::optional(Micros(*micros)) : std::nullopt;
}

std::string FormatConfigDuration(Micros duration) {
  WR_CHECK(duration >= Micros(0), "no option is a negative duration");
  return FormatInLargestUnit(duration.count(), kDurations);
}

std::optional<int64_t> ParseSize(std::string_view text) {
  return Parse(text, kSizes);
}

std::string FormatSize(int64_t bytes) {
  WR_CHECK(bytes >= 0, "no option is a negative size");
  return FormatInLargestUnit(bytes, kSizes);
}

}  // namespace walrelay
