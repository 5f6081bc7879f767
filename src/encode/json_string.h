// A string of a JSON text, without its escapes.
#pragma once

#include <optional>
#include <string_view>

#include "base/arena.h"

namespace walrelay {

// `text` begins behind the opening quote and may go on behind the closing one. A lone surrogate
// takes the three bytes that UTF-8 would have for it. nullopt: no closing quote, a control
// character, or an escape that JSON does not have. The result points into the text or into the
// arena.
std::optional<std::string_view> Unescape(std::string_view text, Arena& arena);

}  // namespace walrelay
