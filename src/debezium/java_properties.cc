#include "debezium/java_properties.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>

#include "base/text.h"
#include "walrelay/error.h"

namespace walrelay {
namespace {

bool IsBlank(char c) {
  return c == ' ' || c == '\t' || c == '\f';
}

std::string_view WithoutIndent(std::string_view text) {
  text.remove_prefix(
      static_cast<size_t>(std::find_if_not(text.begin(), text.end(), IsBlank) - text.begin()));
  return text;
}

// A line that ends in an odd number of backslashes continues on the next line.
bool IsContinued(std::string_view line) {
  const size_t last = line.find_last_not_of('\\');
  const size_t backslashes = line.size() - (last == std::string_view::npos ? 0 : last + 1);
  return backslashes % 2 == 1;
}

void AppendUtf8(unsigned code, std::string& out) {
  if (code < 0x80) {
    out += static_cast<char>(code);
  } else if (code < 0x800) {
    out += static_cast<char>(0xC0 | (code >> 6));
    out += static_cast<char>(0x80 | (code & 0x3F));
  } else {
    out += static_cast<char>(0xE0 | (code >> 12));
    out += static_cast<char>(0x80 | ((code >> 6) & 0x3F));
    out += static_cast<char>(0x80 | (code & 0x3F));
  }
}

// The four hexadecimal digits of \uXXXX.
std::optional<unsigned> HexCode(std::string_view digits) {
  unsigned code = 0;
  for (const char c : digits.substr(0, 4)) {
    const size_t digit = std::string_view("0123456789abcdef0123456789ABCDEF").find(c);
    if (digit == std::string_view::npos) {
      return std::nullopt;
    }
    code = code * 16 + static_cast<unsigned>(digit % 16);
  }
  return digits.size() < 4 ? std::nullopt : std::optional(code);
}

// Moves one character, or an escape sequence, from the front of `text` to `out`. False: malformed.
bool TakeCharacter(std::string_view& text, std::string& out) {
  const char c = text.front();
  text.remove_prefix(1);
  if (c != '\\' || text.empty()) {
    out += c == '\\' ? "" : std::string(1, c);
    return true;
  }
  const char escaped = text.front();
  text.remove_prefix(1);
  if (escaped == 'u') {
    const auto code = HexCode(text);
    if (!code) {
      return false;
    }
    AppendUtf8(*code, out);
    text.remove_prefix(4);
    return true;
  }
  const size_t known = std::string_view("tnrf").find(escaped);
  out += known == std::string_view::npos ? escaped : "\t\n\r\f"[known];
  return true;
}

// "name = value", "name: value", "name value".
std::optional<std::pair<std::string, std::string>> ParseLine(std::string_view line) {
  std::pair<std::string, std::string> out;
  while (!line.empty() && !IsBlank(line.front()) && line.front() != '=' && line.front() != ':') {
    if (!TakeCharacter(line, out.first)) {
      return std::nullopt;
    }
  }
  line = WithoutIndent(line);
  if (line.starts_with('=') || line.starts_with(':')) {
    line = WithoutIndent(line.substr(1));
  }
  while (!line.empty()) {
    if (!TakeCharacter(line, out.second)) {
      return std::nullopt;
    }
  }
  return out;
}

// Splits a text into lines, numbered from 1.
class Lines {
 public:
  explicit Lines(std::string_view text) : rest_(text) {}

  bool at_end() const { return rest_.empty(); }
  int number() const { return number_; }

  std::string_view Next() {
    const size_t end = std::min(rest_.find_first_of("\r\n"), rest_.size());
    const std::string_view line = rest_.substr(0, end);
    rest_.remove_prefix(end);
    rest_.remove_prefix(rest_.starts_with("\r\n") ? 2 : rest_.empty() ? 0 : 1);
    ++number_;
    return WithoutIndent(line);
  }

 private:
  std::string_view rest_;
  int number_ = 0;
};

}  // namespace

absl::StatusOr<JavaProperties> ParseJavaProperties(std::string_view text) {
  JavaProperties out;
  std::set<std::string> names;
  Lines lines(text);
  while (!lines.at_end()) {
    std::string line(lines.Next());
    const int number = lines.number();
    if (line.empty() || line.front() == '#' || line.front() == '!') {
      continue;
    }
    while (IsContinued(line)) {
      line.pop_back();
      line += lines.at_end() ? "" : lines.Next();
    }
    auto property = ParseLine(line);
    if (!property) {
      return Error(ErrorCode::kConfigSyntax,
                   fmt::format("line {}: expected four hexadecimal digits after \\u", number));
    }
    if (!names.insert(property->first).second) {
      return Error(ErrorCode::kConfigSyntax, fmt::format("line {}: \"{}\" is given twice", number,
                                                         Printable(property->first, 80)));
    }
    out.push_back(*std::move(property));
  }
  return out;
}

}  // namespace walrelay
