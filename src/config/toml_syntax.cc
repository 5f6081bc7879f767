#include "config/toml_syntax.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"

namespace walrelay {
namespace {

// The line of a position, for messages; "" behind the last one.
std::string_view LineAt(std::string_view text, size_t line) {
  for (; line > 1 && !text.empty(); --line) {
    text.remove_prefix(std::min(text.find('\n'), text.size() - 1) + 1);
  }
  return text.substr(0, text.find('\n'));
}

// The key that a line sets, or "". The value is not shown: it may be a secret.
std::string KeyOf(std::string_view line) {
  const std::string_view key = line.substr(0, line.find('='));
  const size_t begin = std::min(key.find_first_not_of(" \t"), key.size());
  const size_t end = key.find_last_not_of(" \t") + 1;
  return key.size() == line.size() ? "" : Printable(key.substr(begin, end - begin), 80);
}

}  // namespace

bool HasEndlessKey(std::string_view text) {
  size_t dots = 0;
  for (const char c : text) {
    if (c == '.') {
      ++dots;
    } else if (std::string_view("=,[]{}\n").find(c) != std::string_view::npos) {
      dots = 0;
    }
    if (dots >= kMaxKeyParts) {
      return true;
    }
  }
  return false;
}

std::string SyntaxMessage(std::string_view text, size_t line_number, size_t column,
                          std::string_view said) {
  const std::string_view line = LineAt(text, line_number);
  const std::string key = KeyOf(line);
  if (said.find("could not determine value type") != std::string_view::npos) {
    return fmt::format("{0}: text must be in quotes: {0} = \"…\"", key);
  }
  // The end of the line is the character that no string may contain.
  if (said.find("control characters other than TAB") != std::string_view::npos &&
      column > line.size()) {
    return fmt::format("{}: the string is not closed: a quote is missing", key);
  }
  return std::string(said);
}

}  // namespace walrelay
