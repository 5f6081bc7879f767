// Version and compiler, for `walrelay version`, logs and metrics.
#pragma once

#include <string_view>

namespace walrelay {

// "0.1.0", from project() in CMakeLists.txt.
// Both texts are literals, valid for the life of the process.
std::string_view Version();
// The compiler and its version.
std::string_view Compiler();

}  // namespace walrelay
