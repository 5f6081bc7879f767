// The text of a TOML file: what is checked before it is parsed, and messages about invalid syntax.
//
// Pure, and without the TOML library.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace walrelay {

inline constexpr size_t kMaxKeyParts = 250;

// Whether a key has more than kMaxKeyParts parts. Each dot of a key is a nested table, which the
// parser builds without a limit and destroys by recursion. A string value with that many dots is
// rejected too; no value needs them.
bool HasEndlessKey(std::string_view text);

// A message about invalid syntax at a position: the parser's own, or the remedy if the parser's
// message does not say what to do. `line_number` and `column` start at 1. The message does not
// contain values: they may be secrets.
std::string SyntaxMessage(std::string_view text, size_t line_number, size_t column,
                          std::string_view said);

}  // namespace walrelay
