// The commit that the program was built from.
#pragma once

#include <string_view>

namespace walrelay {

// "0e1d2c3b4a59", with "-dirty" if the tree differs from it; "unknown" for a tree that is neither a
// clone nor an archive made by git. cmake/Commit.cmake determines it. A literal.
std::string_view Commit();

}  // namespace walrelay
