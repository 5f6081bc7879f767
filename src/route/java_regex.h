// From a regular expression as Java reads it to one that RE2 reads as the same.
#pragma once

#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace walrelay {

// Named groups change their spelling. What both compile and understand differently is refused here;
// what RE2 lacks (look-around, back references) is left as it is, for RE2 to refuse. Errors:
// WR-1003 (ConfigValue), a sentence without the expression.
absl::StatusOr<std::string> ToRe2Syntax(std::string_view java);

}  // namespace walrelay
