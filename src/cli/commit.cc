#include "cli/commit.h"

#include "cli/commit.inc"

namespace walrelay {

std::string_view Commit() {
  return kCommit;
}

}  // namespace walrelay
