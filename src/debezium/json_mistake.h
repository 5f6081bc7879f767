// Finds where a text stops being JSON, for an error message.
//
// simdjson decides whether a text is valid, and reports neither line nor column.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

namespace walrelay {

struct JsonMistake {
  size_t at;                  // offset in the text, in bytes
  std::string_view expected;  // static text: "a comma or }"
};

// The first mistake in `text`, which must be one value; nullopt for valid JSON. Does not check the
// encoding. Follows RFC 8259, down to 64 levels.
std::optional<JsonMistake> FindJsonMistake(std::string_view text);

}  // namespace walrelay
