// Files that commands write for the operator: configurations.
#pragma once

#include <string>
#include <string_view>

#include "absl/status/status.h"

namespace walrelay {

// Creates the file, readable only by its owner because it may hold passwords. With `replace`, an
// existing file is replaced: the old one stays complete until the new one is. Errors: WR-5005 if
// the file exists, WR-1004 if it cannot be written.
absl::Status WriteNewFile(const std::string& path, std::string_view text, bool replace);

}  // namespace walrelay
