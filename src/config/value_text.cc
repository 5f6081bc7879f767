#include "config/value_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <limits>
#include <span>

#include "absl/time/time.h"
#include "base/absl_strings.h"
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

// How else people write a unit, in lower case.
struct Spelling {
  std::string_view written;
  std::string_view unit;
};
constexpr Spelling kDurationSpellings[] = {{"hours", "h"},
                                           {"hour", "h"},
                                           {"hrs", "h"},
                                           {"hr", "h"},
                                           {"h", "h"},
                                           {"min", "m"},
                                           {"mins", "m"},
                                           {"minutes", "m"},
                                           {"minute", "m"},
                                           {"m", "m"},
                                           {"sec", "s"},
                                           {"secs", "s"},
                                           {"seconds", "s"},
                                           {"second", "s"},
                                           {"s", "s"},
                                           {"", "s"},
                                           {"milliseconds", "ms"},
                                           {"millis", "ms"},
                                           {"msec", "ms"},
                                           {"ms", "ms"},
                                           {"microseconds", "us"},
                                           {"usec", "us"},
                                           {"us", "us"}};
constexpr Spelling kSizeSpellings[] = {
    {"gb", "GiB"}, {"g", "GiB"}, {"gib", "GiB"}, {"mb", "MiB"},  {"m", "MiB"}, {"mib", "MiB"},
    {"kb", "KiB"}, {"k", "KiB"}, {"kib", "KiB"}, {"bytes", "B"}, {"b", "B"}};

char LowerCase(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c | 0x20) : c;
}

// A number and a known spelling of a unit, blanks between them or not, with the unit's right name.
std::string Respelt(std::string_view text, std::span<const Spelling> spellings) {
  const size_t digits = std::min(text.find_first_not_of("0123456789"), text.size());
  const size_t begin = std::min(text.find_first_not_of(' ', digits), text.size());
  std::string written(text.substr(begin));
  std::transform(written.begin(), written.end(), written.begin(), LowerCase);
  for (const Spelling& spelling : spellings) {
    if (digits > 0 && spelling.written == written) {
      return fmt::format("{}{}", text.substr(0, digits), spelling.unit);
    }
  }
  return "";
}

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
  absl::Duration duration;
  if (text.starts_with('+') || text.starts_with('-') ||
      !absl::ParseDuration(ToAbsl(text), &duration)) {
    return std::nullopt;
  }
  // Differs for what microseconds cannot represent: nanoseconds, "inf", and 300,000 years.
  const int64_t micros = absl::ToInt64Microseconds(duration);
  return absl::Microseconds(micros) == duration ? std::optional(Micros(micros)) : std::nullopt;
}

std::string NearestDuration(std::string_view text) {
  std::string nearest = Respelt(text, kDurationSpellings);
  return ParseDuration(nearest) ? nearest : "";
}

std::string FormatConfigDuration(Micros duration) {
  WR_CHECK(duration >= Micros(0), "no option is a negative duration");
  return FormatInLargestUnit(duration.count(), kDurations);
}

std::optional<int64_t> ParseSize(std::string_view text) {
  return Parse(text, kSizes);
}

std::string NearestSize(std::string_view text) {
  std::string nearest = Respelt(text, kSizeSpellings);
  return ParseSize(nearest) ? nearest : "";
}

std::string FormatSize(int64_t bytes) {
  WR_CHECK(bytes >= 0, "no option is a negative size");
  return FormatInLargestUnit(bytes, kSizes);
}

}  // namespace walrelay
