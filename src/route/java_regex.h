// Translates a Java regular expression to an equivalent one for RE2.
//
// Debezium's options contain Java expressions. RE2 rejects most of what it does not have; what both
// accept with different meanings would route to another topic, and is rejected here.
//
// Source: java.util.regex.Pattern; RE2's syntax, https://github.com/google/re2/wiki/Syntax.
#pragma once

#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace walrelay {

// Changes the syntax of named groups. Rejects constructs that both engines accept with different
// meanings. Constructs that RE2 lacks (look-around, back references) are left unchanged, for RE2 to
// reject. Errors: WR-1003 (ConfigValue), a sentence without the expression.
// Pure. Does not check that the result is a valid expression: RE2 does. "" stays "".
absl::StatusOr<std::string> ToRe2Syntax(std::string_view java);

}  // namespace walrelay
