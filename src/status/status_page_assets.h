// The style sheet and the script of the status page. The page is complete without them.
//
// Embedded in the program: the page needs no other host.
#pragma once

#include <string_view>

namespace walrelay {

// The style sheet.
extern const std::string_view kStatusStyle;

// Fetches the page every few seconds and replaces the content.
extern const std::string_view kStatusScript;

// Base64 of the script's SHA-256, for the Content-Security-Policy, which allows no other script.
// REQUIRES: changed together with kStatusScript; otherwise browsers refuse to run the script.
// Source: Content Security Policy Level 3, script-src with a hash.
extern const std::string_view kStatusScriptHash;

}  // namespace walrelay
