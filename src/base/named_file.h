// A file that an option names, and that a library reads later.
#pragma once

#include <string>
#include <string_view>

#include "absl/status/status.h"

namespace walrelay {

// Whether this process may read the file or directory. `what` begins the message: what the path is
// for. OK for "". Does not block on a pipe. Errors: WR-1009.
absl::Status CheckNamedFile(std::string_view what, const std::string& path);

}  // namespace walrelay
