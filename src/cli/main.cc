#include <cstdio>
#include <cstdlib>

#include "cli/command_line.h"
#include "postgres/connection.h"

int main(int argc, char** argv) {
  const int code = walrelay::RunCommandLine(argc, argv);
  if (walrelay::NamesAreBeingResolved()) {
    std::fflush(nullptr);
    std::_Exit(code);
  }
  return code;
}
