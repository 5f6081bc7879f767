#include "encode/properties_text.h"

#include <algorithm>
#include <cstddef>

namespace walrelay {
namespace {

constexpr std::string_view kBlank = " \t\f";

std::string_view WithoutLeading(std::string_view text, std::string_view characters) {
  text.remove_prefix(std::min(text.find_first_not_of(characters), text.size()));
  return text;
}

// Appends a UTF-16 code unit as UTF-8. (A span's context contains only ASCII; the halves of a
// surrogate pair are encoded separately.)
size_t PutUnit(unsigned unit, char* out) {
  if (unit < 0x80) {
    out[0] = static_cast<char>(unit);
    return 1;
  }
  if (unit < 0x800) {
    out[0] = static_cast<char>(0xC0 | (unit >> 6));
    out[1] = static_cast<char>(0x80 | (unit & 0x3F));
    return 2;
  }
  out[0] = static_cast<char>(0xE0 | (unit >> 12));
  out[1] = static_cast<char>(0x80 | ((unit >> 6) & 0x3F));
  out[2] = static_cast<char>(0x80 | (unit & 0x3F));
  return 3;
}

std::optional<unsigned> HexUnit(std::string_view digits) {
  if (digits.size() < 4) {
    return std::nullopt;
  }
  unsigned unit = 0;
  for (const char c : digits.substr(0, 4)) {
    const std::string_view kDigits = "0123456789abcdef";
    const size_t digit = kDigits.find(c >= 'A' && c <= 'F' ? static_cast<char>(c - 'A' + 'a') : c);
    if (digit == std::string_view::npos) {
      return std::nullopt;
    }
    unit = unit * 16 + static_cast<unsigned>(digit);
  }
  return unit;
}

// Iterates over a text: logical lines, and for each the key, then the value.
class Reader {
 public:
  Reader(std::string_view text, Arena& arena) : rest_(text), arena_(arena) {}

  // Moves to the next line with content; false at the end.
  bool NextLine() {
    while (!rest_.empty()) {
      rest_ = WithoutLeading(rest_, " \t\f\r\n");
      if (rest_.empty() || (rest_.front() != '#' && rest_.front() != '!')) {
        break;
      }
      rest_.remove_prefix(std::min(rest_.find_first_of("\r\n"), rest_.size()));
    }
    return !rest_.empty();
  }

  std::string_view Key() {
    const std::string_view key = Until(" \t\f=:\r\n");
    rest_ = WithoutLeading(rest_, kBlank);
    if (!rest_.empty() && (rest_.front() == '=' || rest_.front() == ':')) {
      rest_ = WithoutLeading(rest_.substr(1), kBlank);
    }
    return key;
  }
  std::string_view Value() { return Until("\r\n"); }

 private:
  // Consumes the text up to an unescaped character of `ends`, and removes escapes. The result is
  // never longer than its source.
  std::string_view Until(std::string_view ends) {
    const size_t plain = std::min(rest_.find_first_of(ends), rest_.find('\\'));
    if (plain == std::string_view::npos || rest_[plain] != '\\') {
      const std::string_view found = rest_.substr(0, plain);
      rest_.remove_prefix(found.size());
      return found;
    }
    char* const out = arena_.Allocate(rest_.size());
    size_t size = 0;
    while (!rest_.empty() && ends.find(rest_.front()) == std::string_view::npos) {
      const char c = rest_.front();
      rest_.remove_prefix(1);
      if (c == '\\') {
        size += Escaped(out + size);
      } else {
        out[size++] = c;
      }
    }
    return {out, size};
  }

  // Starts after a backslash.
  size_t Escaped(char* out) {
    if (rest_.empty()) {
      return 0;
    }
    const char c = rest_.front();
    rest_.remove_prefix(1);
    switch (c) {
      case '\r':
      case '\n':  // the line continues in the next one
        if (c == '\r' && rest_.starts_with('\n')) {
          rest_.remove_prefix(1);
        }
        rest_ = WithoutLeading(rest_, kBlank);
        return 0;
      case 'u':
        if (const auto unit = HexUnit(rest_)) {
          rest_.remove_prefix(4);
          return PutUnit(*unit, out);
        }
        break;
      default:
        break;
    }
    constexpr std::string_view kNames = "tnrf";
    constexpr std::string_view kMeant = "\t\n\r\f";
    const size_t name = kNames.find(c);
    *out = name == std::string_view::npos ? c : kMeant[name];
    return 1;
  }

  std::string_view rest_;
  Arena& arena_;
};

}  // namespace

std::optional<std::string_view> PropertyIn(std::string_view text, std::string_view key,
                                           Arena& arena) {
  std::optional<std::string_view> found;
  Reader reader(text, arena);
  while (reader.NextLine()) {
    const bool wanted = reader.Key() == key;
    const std::string_view value = reader.Value();
    if (wanted) {
      found = value;
    }
  }
  return found;
}

}  // namespace walrelay
