#include "base/check.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "base/failure_report.h"

namespace walrelay {

// snprintf() and write(), and neither the log nor stdio: they have locks and a thread, which may be
// what failed.
void CheckFailed(const char* file, int line, const char* condition, const char* why) {
  char what[512];
  (void)std::snprintf(what, sizeof(what), "internal error at %s:%d: %s does not hold (%s)", file,
                      line, condition, why);
  char text[1024];
  const int size = std::snprintf(
      text, sizeof(text),
      "walrelay: WR-5001 %s\n"
      "walrelay: aborting, nothing more is confirmed; after a restart Postgres sends every "
      "unacknowledged event again. Please report this line.\n",
      what);
  if (size > 0) {
    const auto length = std::min(static_cast<size_t>(size), sizeof(text) - 1);
    // A full pipe must not keep the process alive.
    pollfd ready{STDERR_FILENO, POLLOUT, 0};
    if (::poll(&ready, 1, 1000) > 0) {
      [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, text, length);
    }
  }
  SetFailureText(what);
  std::abort();
}

}  // namespace walrelay
