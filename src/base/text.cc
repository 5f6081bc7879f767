#include "base/text.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <numeric>
#include <vector>

namespace walrelay {
namespace {

bool IsControl(unsigned char byte) {
  return byte < 0x20 || byte == 0x7F;
}

// Length of the well-formed UTF-8 sequence at the start of `text`, 0 if there is none. Overlong
// forms, surrogates and values above U+10FFFF are not well-formed (Unicode, table 3-7).
size_t Utf8Length(std::string_view text) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  const auto continues = [&](size_t i) { return i < text.size() && (byte(i) & 0xC0) == 0x80; };
  const unsigned char lead = byte(0);
  if (lead < 0x80) {
    return 1;
  }
  if (lead >= 0xC2 && lead <= 0xDF && continues(1)) {
    return 2;
  }
  if (lead >= 0xE0 && lead <= 0xEF && continues(1) && continues(2)) {
    const bool overlong = lead == 0xE0 && byte(1) < 0xA0;
    const bool surrogate = lead == 0xED && byte(1) > 0x9F;
    return overlong || surrogate ? 0 : 3;
  }
  if (lead >= 0xF0 && lead <= 0xF4 && continues(1) && continues(2) && continues(3)) {
    const bool overlong = lead == 0xF0 && byte(1) < 0x90;
    const bool beyond = lead == 0xF4 && byte(1) > 0x8F;
    return overlong || beyond ? 0 : 4;
  }
  return 0;
}

bool IsC1Control(std::string_view text) {
  return text.size() >= 2 && text[0] == '\xC2' && static_cast<unsigned char>(text[1]) < 0xA0;
}

// The first code point of `text` if it ends a line for some viewers or changes the direction of
// text; otherwise 0. All of them have three bytes in UTF-8, except U+061C.
uint32_t SteeringCharacter(std::string_view text) {
  const auto byte = [&](size_t i) { return static_cast<uint32_t>(static_cast<uint8_t>(text[i])); };
  if (text.starts_with("\xD8\x9C")) {
    return 0x061C;
  }
  if (!text.starts_with("\xE2\x80") && !text.starts_with("\xE2\x81")) {
    return 0;
  }
  const uint32_t point = (byte(0) & 0x0F) << 12 | (byte(1) & 0x3F) << 6 | (byte(2) & 0x3F);
  const bool steers = (point >= 0x200E && point <= 0x200F) ||  // marks
                      (point >= 0x2028 && point <= 0x202E) ||  // separators, embeddings, overrides
                      (point >= 0x2066 && point <= 0x206F);    // isolates, and deprecated controls
  return steers ? point : 0;
}

size_t EditDistance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t substituted = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, substituted});
    }
  }
  return row[b.size()];
}

}  // namespace

bool IsUtf8(std::string_view text) {
  while (!text.empty()) {
    const size_t length = Utf8Length(text);
    if (length == 0) {
      return false;
    }
    text.remove_prefix(length);
  }
  return true;
}

std::string Printable(std::string_view text, size_t limit) {
  std::string out;
  out.reserve(std::min(text.size(), limit));
  while (!text.empty()) {
    if (out.size() >= limit) {
      out += "…";
      break;
    }
    const size_t length = Utf8Length(text);
    if (length == 0 || IsControl(static_cast<unsigned char>(text[0]))) {
      out += fmt::format("\\x{:02x}", static_cast<unsigned char>(text[0]));
      text.remove_prefix(1);
    } else if (IsC1Control(text)) {
      out += fmt::format("\\x{:02x}", static_cast<unsigned char>(text[1]));
      text.remove_prefix(2);
    } else if (const uint32_t steering = SteeringCharacter(text); steering != 0) {
      out += fmt::format("\\u{:04x}", steering);
      text.remove_prefix(length);
    } else {
      out += text.substr(0, length);
      text.remove_prefix(length);
    }
  }
  return out;
}

void AppendJsonString(std::string_view text, std::string& out) {
  out += '"';
  while (!text.empty()) {
    const size_t length = Utf8Length(text);
    const char lead = text[0];
    if (length == 0) {
      out += "\xEF\xBF\xBD";
      text.remove_prefix(1);
      continue;
    }
    if (lead == '"' || lead == '\\') {
      out += '\\';
      out += lead;
    } else if (lead == '\n') {
      out += "\\n";
    } else if (lead == '\t') {
      out += "\\t";
    } else if (IsControl(static_cast<unsigned char>(lead))) {
      out += fmt::format("\\u{:04x}", static_cast<unsigned char>(lead));
    } else if (IsC1Control(text)) {
      out += fmt::format("\\u{:04x}", static_cast<unsigned char>(text[1]));
    } else if (const uint32_t steering = SteeringCharacter(text); steering != 0) {
      out += fmt::format("\\u{:04x}", steering);
    } else {
      out += text.substr(0, length);
    }
    text.remove_prefix(length);
  }
  out += '"';
}

std::string_view NearestName(std::string_view name, std::span<const std::string_view> candidates) {
  std::string_view nearest;
  size_t least = std::max<size_t>(2, name.size() / 3) + 1;
  for (const std::string_view candidate : candidates) {
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

std::string HumanDuration(Micros duration) {
  const int64_t micros = duration.count();
  const int64_t seconds = micros / 1'000'000;
  if (micros < 1'000) {
    return fmt::format("{} µs", micros);
  }
  if (seconds == 0) {
    return fmt::format("{:.1f} ms", static_cast<double>(micros) / 1e3);
  }
  if (seconds < 60) {
    return fmt::format("{:.1f} s", static_cast<double>(micros) / 1e6);
  }
  if (seconds < 3600) {
    return fmt::format("{}m{:02}s", seconds / 60, seconds % 60);
  }
  return fmt::format("{}h{:02}m", seconds / 3600, seconds / 60 % 60);
}

std::string Rfc3339(WallTime time) {
  const auto whole = std::chrono::floor<std::chrono::seconds>(time);
  return fmt::format("{:%Y-%m-%dT%H:%M:%S}.{:06}Z",
                     fmt::gmtime(static_cast<std::time_t>(whole.time_since_epoch().count())),
                     (time - whole).count());
}

}  // namespace walrelay
