// Options of earlier versions, and what an operator writes instead.
//
// An old name is an error and not an alias: a file could otherwise have two values for one setting.
#pragma once

#include <span>
#include <string_view>

#include "absl/status/status.h"

namespace walrelay {

// One value of an option that an earlier version had. All views are of literals.
struct FormerOption {
  std::string_view name;    // "section.key"
  std::string_view value;   // ""; any value that no other row of the option has
  std::string_view option;  // the present option with this meaning
  std::string_view now;     // what to write for the value; "": the same value, with the new name
};

// All rows. To rename or replace an option, add its old values here.
std::span<const FormerOption> FormerOptions();
// nullptr if no version had the option. `value`: as an operator wrote it; "" if it is not text.
const FormerOption* FindFormerOption(std::string_view name, std::string_view value);

// WR-1002, which says what to write. Repeats no value that is not in the table.
absl::Status FormerOptionError(const FormerOption& former);

}  // namespace walrelay
