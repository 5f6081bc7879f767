// Unescapes a string of a JSON text.
#pragma once

#include <optional>
#include <string_view>

#include "base/arena.h"

namespace walrelay {

// `text` begins after the opening quote and may continue after the closing one. A lone surrogate
// becomes the three bytes that UTF-8 would use for it. nullopt: no closing quote, a control
// character, or an invalid escape. The result points into the text or into the arena.
std::optional<std::string_view> Unescape(std::string_view text, Arena& arena);

}  // namespace walrelay
