#include "base/properties_reader.h"

#include <algorithm>

#include "base/utf8.h"

namespace walrelay {
namespace {

// As java.util.Properties.load(): these characters separate and indent, other white space is text.
constexpr std::string_view kBlanks = " \t\f";
constexpr std::string_view kLineEnds = "\r\n";

std::string_view WithoutLeading(std::string_view text, std::string_view characters) {
  text.remove_prefix(std::min(text.find_first_not_of(characters), text.size()));
  return text;
}

// The length of the line end that `text` begins with; 0 if there is none.
size_t LineEnd(std::string_view text) {
  return text.starts_with("\r\n") ? 2 : text.starts_with('\r') || text.starts_with('\n') ? 1 : 0;
}

// The length of a backslash, a line end, and the indentation of the next line; 0 if `text` does not
// begin with them.
size_t Continuation(std::string_view text) {
  const size_t end = text.starts_with('\\') ? LineEnd(text.substr(1)) : 0;
  return end == 0 ? 0 : text.size() - WithoutLeading(text.substr(1 + end), kBlanks).size();
}

// Starts after a backslash that continues no line.
char* PutEscape(std::string_view& text, char* to, bool& well_formed) {
  constexpr std::string_view kNames = "tnrf";
  constexpr std::string_view kMeanings = "\t\n\r\f";
  if (text.empty()) {
    return to;
  }
  const char c = text.front();
  text.remove_prefix(1);
  if (c == 'u') {
    if (const auto unit = TakeCodeUnit(text)) {
      return PutUtf8(*unit, to);
    }
    well_formed = false;
  }
  // An unknown escape is its character, without the backslash.
  const size_t name = kNames.find(c);
  *to++ = name == std::string_view::npos ? c : kMeanings[name];
  return to;
}

}  // namespace

std::optional<Property> PropertiesReader::Next() {
  if (!SkipToProperty()) {
    return std::nullopt;
  }
  start_ = text_.size() - rest_.size();
  Property out;
  out.name = Unescape(TakeUntil(" \t\f=:\r\n"), out.well_formed);
  SkipBlanks();
  if (rest_.starts_with('=') || rest_.starts_with(':')) {
    rest_.remove_prefix(1);
    SkipBlanks();
  }
  out.value = Unescape(TakeUntil(kLineEnds), out.well_formed);
  return out;
}

// Counted only for an error message. A "\r\n" is one line end.
size_t PropertiesReader::line() const {
  size_t line = 1;
  for (size_t at = 0; at < start_;) {
    const size_t end = LineEnd(text_.substr(at));
    line += std::min<size_t>(end, 1);
    at += std::max<size_t>(end, 1);
  }
  return line;
}

// Skips empty lines and comments. False at the end.
bool PropertiesReader::SkipToProperty() {
  rest_ = WithoutLeading(rest_, " \t\f\r\n");
  // A comment is one line: a backslash at its end does not continue it.
  while (rest_.starts_with('#') || rest_.starts_with('!')) {
    rest_.remove_prefix(std::min(rest_.find_first_of(kLineEnds), rest_.size()));
    rest_ = WithoutLeading(rest_, " \t\f\r\n");
  }
  return !rest_.empty();
}

void PropertiesReader::SkipBlanks() {
  rest_ = WithoutLeading(rest_, kBlanks);
  while (const size_t continuation = Continuation(rest_)) {
    rest_.remove_prefix(continuation);
  }
}

// Consumes the text, escapes included, up to a character of `ends` that is not escaped.
std::string_view PropertiesReader::TakeUntil(std::string_view ends) {
  size_t size = 0;
  while (size < rest_.size() && ends.find(rest_[size]) == std::string_view::npos) {
    const size_t continuation = Continuation(rest_.substr(size));
    size += continuation > 0 ? continuation : rest_[size] == '\\' ? 2 : 1;
  }
  const std::string_view taken = rest_.substr(0, size);
  rest_.remove_prefix(taken.size());
  return taken;
}

// The result is never longer than its source.
std::string_view PropertiesReader::Unescape(std::string_view escaped, bool& well_formed) {
  if (escaped.find('\\') == std::string_view::npos) {
    return escaped;
  }
  char* const begin = arena_.Allocate(escaped.size());
  char* to = begin;
  while (!escaped.empty()) {
    if (const size_t continuation = Continuation(escaped)) {
      escaped.remove_prefix(continuation);
      continue;
    }
    const char c = escaped.front();
    escaped.remove_prefix(1);
    if (c == '\\') {
      to = PutEscape(escaped, to, well_formed);
    } else {
      *to++ = c;
    }
  }
  return {begin, static_cast<size_t>(to - begin)};
}

}  // namespace walrelay
