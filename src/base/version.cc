#include "walrelay/version.h"

namespace walrelay {

// Both are compiled in.
std::string_view Version() {
  return WALRELAY_VERSION;
}

std::string_view Compiler() {
#if defined(__clang__)
  return "clang " __clang_version__;
#else
  return "gcc " __VERSION__;
#endif
}

}  // namespace walrelay
