#include "base/text.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <numeric>
#include <vector>

#include "absl/time/time.h"
#include "base/absl_strings.h"
#include "base/utf8.h"

namespace walrelay {
namespace {

bool IsControl(uint32_t point) {
  return point < 0x20 || (point >= 0x7F && point < 0xA0);
}

// Ends a line for some viewers, or changes the direction of text.
bool IsSteering(uint32_t point) {
  return point == 0x061C || (point >= 0x200E && point <= 0x200F) ||  // marks
         (point >= 0x2028 && point <= 0x202E) ||  // separators, embeddings, overrides
         (point >= 0x2066 && point <= 0x206F);    // isolates, and deprecated controls
}

// How many letters are missing, surplus or wrong; two neighbours that are exchanged count as one
// (optimal string alignment). With three rows of the table.
size_t EditDistance(std::string_view a, std::string_view b) {
  std::vector<size_t> before(b.size() + 1);
  std::vector<size_t> above(b.size() + 1);
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 1; i <= a.size(); ++i) {
    std::swap(before, above);
    std::swap(above, row);
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t substituted = above[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      row[j] = std::min({above[j] + 1, row[j - 1] + 1, substituted});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        row[j] = std::min(row[j], before[j - 2] + 1);
      }
    }
  }
  return row[b.size()];
}

}  // namespace

std::string Printable(std::string_view text, size_t limit) {
  std::string out;
  out.reserve(std::min(text.size(), limit));
  while (!text.empty()) {
    // Checked between characters, so that a multi-byte character is never cut.
    if (out.size() >= limit) {
      out += "…";
      break;
    }
    const auto [point, length] = FirstCharacter(text);
    if (length == 0) {
      out += fmt::format("\\x{:02x}", static_cast<unsigned char>(text[0]));
    } else if (IsControl(point)) {
      out += fmt::format("\\x{:02x}", point);
    } else if (IsSteering(point)) {
      out += fmt::format("\\u{:04x}", point);
    } else {
      out += text.substr(0, length);
    }
    text.remove_prefix(std::max<size_t>(length, 1));
  }
  return out;
}

void AppendJsonString(std::string_view text, std::string& out) {
  out += '"';
  while (!text.empty()) {
    const auto [point, length] = FirstCharacter(text);
    if (length == 0) {
      // U+FFFD: JSON must be UTF-8, and the bytes are not.
      out += "\xEF\xBF\xBD";
    } else if (point == '"' || point == '\\') {
      out += '\\';
      out += text[0];
    } else if (point == '\n') {
      out += "\\n";
    } else if (point == '\t') {
      out += "\\t";
    } else if (IsControl(point) || IsSteering(point)) {
      out += fmt::format("\\u{:04x}", point);
    } else {
      out += text.substr(0, length);
    }
    text.remove_prefix(std::max<size_t>(length, 1));
  }
  out += '"';
}

std::string_view NearestName(std::string_view name, std::span<const std::string_view> candidates) {
  std::string_view nearest;
  // One more than the largest accepted distance: beyond it a suggestion would be a guess.
  // A name of three letters is near to too many others.
  size_t least = (name.size() <= 3 ? 1 : std::max<size_t>(2, name.size() / 3)) + 1;
  for (const std::string_view candidate : candidates) {
    // Each surplus letter is one mistake. Without this a name of megabytes would take minutes.
    const size_t surplus =
        std::max(name.size(), candidate.size()) - std::min(name.size(), candidate.size());
    if (surplus >= least) {
      continue;
    }
    const size_t distance = EditDistance(name, candidate);
    if (distance < least) {
      least = distance;
      nearest = candidate;
    }
  }
  return nearest;
}

std::string HumanBytes(uint64_t bytes) {
  constexpr std::array<const char*, 5> kUnits = {"B", "KiB", "MiB", "GiB", "TiB"};
  if (bytes < 1024) {
    return fmt::format("{} B", bytes);
  }
  double value = static_cast<double>(bytes);
  size_t unit = 0;
  while (value >= 1024 && unit + 1 < kUnits.size()) {
    value /= 1024;
    ++unit;
  }
  return fmt::format("{:.1f} {}", value, kUnits[unit]);
}

// Commas and not the locale's separators: pages and reports look the same on every host.
std::string Grouped(uint64_t number) {
  const std::string digits = std::to_string(number);
  std::string out;
  for (size_t i = 0; i < digits.size(); ++i) {
    if (i > 0 && (digits.size() - i) % 3 == 0) {
      out += ',';
    }
    out += digits[i];
  }
  return out;
}

std::string FormatDuration(Micros duration) {
  const int64_t micros = std::max<int64_t>(duration.count(), 0);
  const int64_t seconds = micros / 1'000'000;
  if (micros < 1'000) {
    return fmt::format("{} µs", micros);
  }
  if (seconds == 0) {
    return fmt::format("{:.1f} ms", static_cast<double>(micros) / 1e3);
  }
  if (seconds < 10) {
    return fmt::format("{} s", std::round(static_cast<double>(micros) / 1e5) / 10);
  }
  if (seconds < 60) {
    return fmt::format("{} s", seconds);
  }
  if (seconds < 600 && seconds % 60 != 0) {
    return fmt::format("{} min {} s", seconds / 60, seconds % 60);
  }
  if (seconds < 3600) {
    return fmt::format("{} min", seconds / 60);
  }
  if (seconds < 48 * 3600) {
    return seconds % 3600 < 60 ? fmt::format("{} h", seconds / 3600)
                               : fmt::format("{} h {} min", seconds / 3600, seconds / 60 % 60);
  }
  return fmt::format("{} days", seconds / 86400);
}

void AppendRfc3339(WallTime time, std::string& out) {
  const auto whole = std::chrono::floor<std::chrono::seconds>(time);
  fmt::format_to(std::back_inserter(out), "{:%Y-%m-%dT%H:%M:%S}.{:06}Z",
                 fmt::gmtime(static_cast<std::time_t>(whole.time_since_epoch().count())),
                 (time - whole).count());
}

std::string Rfc3339(WallTime time) {
  std::string out;
  AppendRfc3339(time, out);
  return out;
}

// Abseil also parses names of times ("infinite-future"), which have no digit.
std::optional<WallTime> ParseRfc3339(std::string_view text) {
  constexpr WallTime kFirst = std::chrono::sys_days(std::chrono::year(1) / 1 / 1);
  constexpr WallTime kEnd = std::chrono::sys_days(std::chrono::year(10'000) / 1 / 1);
  absl::Time time;
  if (text.empty() || text[0] < '0' || text[0] > '9' ||
      !absl::ParseTime(absl::RFC3339_full, ToAbsl(text), &time, nullptr)) {
    return std::nullopt;
  }
  const WallTime parsed{Micros(absl::ToUnixMicros(time))};
  return parsed >= kFirst && parsed < kEnd ? std::optional(parsed) : std::nullopt;
}

}  // namespace walrelay
