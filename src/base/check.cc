#include "base/check.h"

#include <cstdio>
#include <cstdlib>

namespace walrelay {

// fprintf() and not the log: the log has a thread, which may be the one that failed. stderr is
// unbuffered.
void CheckFailed(const char* file, int line, const char* condition, const char* why) {
  std::fprintf(
      stderr,
      "walrelay: WR-5001 internal error at %s:%d: %s does not hold (%s)\n"
      "walrelay: aborting, nothing more is confirmed; after a restart Postgres sends every "
      "unacknowledged event again. Please report this line.\n",
      file, line, condition, why);
  std::abort();
}

}  // namespace walrelay
