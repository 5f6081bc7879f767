// UTF-8, and the \uXXXX of JSON and of Java's properties.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace walrelay {

struct Utf8Character {
  uint32_t point = 0;
  size_t length = 0;  // in bytes; 0: `text` does not begin with a well-formed sequence
};

// The first character of `text`. Overlong forms, surrogates and values above U+10FFFF are not
// well-formed (Unicode, table 3-7). REQUIRES: !text.empty().
Utf8Character FirstCharacter(std::string_view text);

// True for "".
bool IsUtf8(std::string_view text);

// Writes the one to four bytes of `point` and returns the end. A surrogate becomes three bytes,
// which are not well-formed.
// REQUIRES: `to` has room for four bytes, and point <= U+10FFFF.
char* PutUtf8(uint32_t point, char* to);

// Consumes the four hexadecimal digits of "\u12AB" from the front of `text`: a UTF-16 code unit.
// nullopt, and `text` unchanged, if there are fewer.
std::optional<uint32_t> TakeCodeUnit(std::string_view& text);

}  // namespace walrelay
