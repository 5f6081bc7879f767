// Translates a Java regular expression to an equivalent one for RE2.
#pragma once

#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace walrelay {

// Changes the syntax of named groups. Rejects constructs that both engines accept with different
// meanings. Constructs that RE2 lacks (look-around, back references) are left unchanged, for RE2 to
// reject. Errors: WR-1003 (ConfigValue), a sentence without the expression.
absl::StatusOr<std::string> ToRe2Syntax(std::string_view java);

}  // namespace walrelay
