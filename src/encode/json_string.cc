#include "encode/json_string.h"

#include "base/utf8.h"

namespace walrelay {
namespace {

// Starts after "\u". Six characters become at most three bytes, twelve become four. nullptr:
// malformed.
char* PutUnicode(std::string_view& text, char* to) {
  const auto unit = TakeCodeUnit(text);
  if (!unit) {
    return nullptr;
  }
  // A high surrogate followed by a low one is one character. A lone one is kept as three bytes, as
  // Java keeps it as a char.
  if (*unit >= 0xD800 && *unit < 0xDC00 && text.starts_with("\\u")) {
    std::string_view behind = text.substr(2);
    const auto low = TakeCodeUnit(behind);
    if (low && *low >= 0xDC00 && *low < 0xE000) {
      text = behind;
      return PutUtf8(0x10000 + ((*unit - 0xD800) << 10) + (*low - 0xDC00), to);
    }
  }
  return PutUtf8(*unit, to);
}

// Starts after the backslash. nullptr: an invalid escape.
char* PutEscape(std::string_view& text, char* to) {
  constexpr std::string_view kEscapes = "\"\\/bfnrt";
  constexpr std::string_view kMeanings = "\"\\/\b\f\n\r\t";
  if (text.empty()) {
    return nullptr;
  }
  const char escape = text[0];
  text.remove_prefix(1);
  if (escape == 'u') {
    return PutUnicode(text, to);
  }
  const size_t index = kEscapes.find(escape);
  if (index == std::string_view::npos) {
    return nullptr;
  }
  *to++ = kMeanings[index];
  return to;
}

// The text up to the closing quote, including escapes.
// The closing quote is searched before anything is decoded, so that the result's size is known.
std::optional<std::string_view> QuotedPart(std::string_view text) {
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '"') {
      return text.substr(0, i);
    }
    // RFC 8259, section 7: control characters must be escaped.
    if (static_cast<unsigned char>(text[i]) < 0x20) {
      return std::nullopt;
    }
    if (text[i] == '\\') {
      ++i;
    }
  }
  return std::nullopt;
}

}  // namespace

// A string without escapes is returned as it is, without a copy.
std::optional<std::string_view> Unescape(std::string_view text, Arena& arena) {
  const auto quoted = QuotedPart(text);
  if (!quoted || quoted->find('\\') == std::string_view::npos) {
    return quoted;
  }
  std::string_view rest = *quoted;
  char* const begin = arena.Allocate(rest.size());
  char* to = begin;
  while (!rest.empty()) {
    const char c = rest[0];
    rest.remove_prefix(1);
    if (c != '\\') {
      *to++ = c;
    } else if (to = PutEscape(rest, to); to == nullptr) {
      return std::nullopt;
    }
  }
  return std::string_view(begin, static_cast<size_t>(to - begin));
}

}  // namespace walrelay
