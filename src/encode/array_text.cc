#include "encode/array_text.h"

namespace walrelay {
namespace {

using Element = std::optional<std::string_view>;

// Consumes from after the opening quote to after the closing one.
// The result is at most as long as the text, so one allocation is enough; what is not used is lost
// until the arena is cleared.
std::optional<std::string_view> TakeQuoted(std::string_view& text, Arena& arena) {
  char* const begin = arena.Allocate(text.size());
  char* to = begin;
  while (!text.empty() && text[0] != '"') {
    if (text[0] == '\\') {
      text.remove_prefix(1);
      if (text.empty()) {
        return std::nullopt;
      }
    }
    *to++ = text[0];
    text.remove_prefix(1);
  }
  if (text.empty()) {
    return std::nullopt;
  }
  text.remove_prefix(1);
  return std::string_view(begin, static_cast<size_t>(to - begin));
}

// False: there is no element at the front of `text`.
bool TakeElement(std::string_view& text, Arena& arena, Element& out) {
  if (text.starts_with('"')) {
    text.remove_prefix(1);
    out = TakeQuoted(text, arena);
    return out.has_value();
  }
  // array_out quotes every element that contains one of these characters, is empty, or reads NULL.
  const std::string_view bare = text.substr(0, text.find_first_of(",}{\"\\"));
  text.remove_prefix(bare.size());
  // Without quotes it is the null element; the string "NULL" is quoted.
  out = bare == "NULL" ? std::nullopt : Element(bare);
  return !bare.empty();
}

}  // namespace

std::optional<std::vector<Element>> ParseArray(std::string_view text, Arena& arena) {
  // Explicit bounds: [2:3]={a,b}.
  // Where the indices begin does not matter: Connect's arrays begin at 0.
  if (text.starts_with('[')) {
    text.remove_prefix(std::min(text.find('='), text.size() - 1) + 1);
  }
  if (text.size() < 2 || text.front() != '{' || text.back() != '}') {
    return std::nullopt;
  }
  std::vector<Element> elements;
  text.remove_prefix(1);
  if (text == "}") {
    return elements;
  }
  // Elements and commas alternate, and nothing follows the closing brace. A nested array begins
  // with a brace, which TakeElement() rejects.
  for (;;) {
    if (!TakeElement(text, arena, elements.emplace_back()) || text.empty()) {
      return std::nullopt;
    }
    const char next = text[0];
    text.remove_prefix(1);
    if (next == '}') {
      return text.empty() ? std::optional(std::move(elements)) : std::nullopt;
    }
    if (next != ',') {
      return std::nullopt;
    }
  }
}

}  // namespace walrelay
