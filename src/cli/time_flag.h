// A time on the command line.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "walrelay/clock.h"

namespace walrelay {

// nullopt for "": the flag was not given. Errors: WR-5005, naming `flag`, for a text that is not in
// the format of RFC 3339.
absl::StatusOr<std::optional<WallTime>> ParseTimeFlag(std::string_view flag,
                                                      const std::string& text);

}  // namespace walrelay
