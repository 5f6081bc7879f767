// What the status page wears and does; the page itself is whole without either.
#pragma once

#include <string_view>

namespace walrelay {

// The page's style sheet.
extern const std::string_view kStatusStyle;

// Fetches the page anew every few seconds and puts its content in the place of the old one.
extern const std::string_view kStatusScript;

// Base64 of the script's SHA-256: the only script that the page's policy lets run.
extern const std::string_view kStatusScriptHash;

}  // namespace walrelay
