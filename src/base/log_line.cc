#include "base/log_line.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <type_traits>
#include <variant>

#include "base/system_clock.h"
#include "base/text.h"

namespace walrelay {
namespace {

// In bytes. Values come from rows and servers; a log shipper may split or drop long lines.
constexpr size_t kMaxOfAValue = 1024;

constexpr std::string_view kLevelColours[] = {"\033[2m", "\033[32m", "\033[33m", "\033[31m"};

std::string ToText(const LogField::Value& value) {
  return std::visit(
      [](const auto& v) -> std::string {
        if constexpr (std::is_same_v<std::decay_t<decltype(v)>, std::string>) {
          if (!v.empty() && v.find_first_of(" =\"") == std::string::npos) {
            return Printable(v);
          }
          // Escaped, so that a value cannot imitate its own end and a further field.
          std::string quoted;
          AppendJsonString(std::string_view(v).substr(0, kMaxOfAValue), quoted);
          return quoted;
        } else {
          return fmt::format("{}", v);
        }
      },
      value);
}

void AppendJson(const LogField::Value& value, std::string& out) {
  if (const auto* text = std::get_if<std::string>(&value)) {
    AppendJsonString(std::string_view(*text).substr(0, kMaxOfAValue), out);
  } else if (const auto* number = std::get_if<double>(&value); number && !std::isfinite(*number)) {
    out += "null";  // JSON has no such number
  } else {
    out += ToText(value);
  }
}

void AppendJson(const LogField& field, std::string& out) {
  out += fmt::format(",\"{}\":", field.key);
  AppendJson(field.value, out);
}

}  // namespace

std::string JsonLine(const LogLine& line) {
  std::string out = fmt::format(R"({{"ts":"{}","level":"{}","event":")",
                                Rfc3339(SystemClock().WallNow()), NameOf(line.level));
  // Not escaped: event names are literals of the code.
  out += line.event;
  out += R"(","msg":)";
  AppendJsonString(line.message.substr(0, 2048), out);
  if (line.pipeline != nullptr) {
    AppendJson({"source", line.pipeline->source}, out);
    AppendJson({"slot", line.pipeline->slot}, out);
  }
  for (const LogField& field : line.fields) {
    AppendJson(field, out);
  }
  out += '}';
  return out;
}

std::string TextLine(const LogLine& line, bool colour, bool name_pipeline) {
  const auto& [level, pipeline, event, message, fields] = line;
  const std::string_view on = colour ? kLevelColours[static_cast<size_t>(level)] : "";
  const std::string_view off = colour ? "\033[0m" : "";
  const std::string_view dim = colour ? "\033[2m" : "";
  std::string out = fmt::format("{}{}{} {}{:<7}{} {:<20} {}", dim, Rfc3339(SystemClock().WallNow()),
                                off, on, NameOf(level), off, event, Printable(message, 2048));
  const auto append = [&](const LogField& field) {
    out += fmt::format("  {}{}={}{}", dim, field.key, off, ToText(field.value));
  };
  if (pipeline != nullptr && name_pipeline) {
    append({"source", pipeline->source});
    append({"slot", pipeline->slot});
  }
  std::for_each(fields.begin(), fields.end(), append);
  return out;
}

}  // namespace walrelay
