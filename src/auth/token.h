// Token: a bearer token for the login to Kafka, and when it expires.
//
// Pure.
#pragma once

#include <string_view>

#include "absl/status/statusor.h"
#include "walrelay/clock.h"
#include "walrelay/secret.h"

namespace walrelay {

struct Token {
  Secret value;
  WallTime expiry;
};

// Reads a token as files, commands and token endpoints provide it: the token itself, or a JSON
// object with access_token and, in seconds, expires_in. The token expires at the earlier of `exp`
// in a JWT and expires_in; without both, `lifetime` after `now`. White space around it is ignored.
//
// Errors: WR-4012 for an empty text, a JSON object without access_token, a character that no token
// has, and an expired token. No message contains a part of the text.
// Source: RFC 6749, section 5.1; RFC 6750, section 2.1; RFC 7519, section 4.1.4.
absl::StatusOr<Token> ParseToken(std::string_view text, WallTime now, Micros lifetime);

}  // namespace walrelay
