// Files of the source tree: for tests that compare a published page with the program, and for
// recorded data.
#pragma once

#include <string>

namespace walrelay::testing {

// The content of the file at `path`, which is relative to the root of the tree; it must exist.
std::string SourceFile(const std::string& path);

}  // namespace walrelay::testing
