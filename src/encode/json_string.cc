#include "encode/json_string.h"

#include <charconv>

namespace walrelay {
namespace {

// Consumes the four digits of "\u12AB" from the front of `text`.
std::optional<unsigned> TakeUnit(std::string_view& text) {
  unsigned unit = 0;
  const auto [end, error] =
      std::from_chars(text.data(), text.data() + std::min<size_t>(text.size(), 4), unit, 16);
  if (error != std::errc() || end != text.data() + 4) {
    return std::nullopt;
  }
  text.remove_prefix(4);
  return unit;
}

char* PutUtf8(unsigned point, char* to) {
  const auto tail = [&](int shift) { return static_cast<char>(0x80u | (point >> shift & 0x3Fu)); };
  if (point < 0x80) {
    *to++ = static_cast<char>(point);
  } else if (point < 0x800) {
    *to++ = static_cast<char>(0xC0u | point >> 6);
    *to++ = tail(0);
  } else if (point < 0x10000) {
    *to++ = static_cast<char>(0xE0u | point >> 12);
    *to++ = tail(6);
    *to++ = tail(0);
  } else {
    *to++ = static_cast<char>(0xF0u | point >> 18);
    *to++ = tail(12);
    *to++ = tail(6);
    *to++ = tail(0);
  }
  return to;
}

// Starts after "\u". Six characters become at most three bytes, twelve become four. nullptr:
// malformed.
char* PutUnicode(std::string_view& text, char* to) {
  const auto unit = TakeUnit(text);
  if (!unit) {
    return nullptr;
  }
  if (*unit >= 0xD800 && *unit < 0xDC00 && text.starts_with("\\u")) {
    std::string_view behind = text.substr(2);
    const auto low = TakeUnit(behind);
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
std::optional<std::string_view> QuotedPart(std::string_view text) {
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '"') {
      return text.substr(0, i);
    }
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
