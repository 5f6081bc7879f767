#include <sys/prctl.h>
#include <sys/resource.h>

#include <cstdio>
#include <cstdlib>

#include "cli/command_line.h"
#include "postgres/connection.h"

namespace {

// Every command may hold passwords and rows, which a core file would write to disk. RLIMIT_CORE
// does not apply if the kernel pipes core files to a program; PR_SET_DUMPABLE does.
void ForbidCoreDumps() {
  // Errors are ignored: the commands work without this protection too.
  constexpr rlimit kNone{};
  (void)::setrlimit(RLIMIT_CORE, &kNone);
  (void)::prctl(PR_SET_DUMPABLE, 0);
}

}  // namespace

int main(int argc, char** argv) {
  ForbidCoreDumps();
  const int code = walrelay::RunCommandLine(argc, argv);
  if (walrelay::NamesAreBeingResolved()) {
    std::fflush(nullptr);
    std::_Exit(code);
  }
  return code;
}
