// The command line: which command, with which flags.
#pragma once

#include <vector>

#include "cli/command.h"

namespace walrelay {

// Parses, runs the command, and returns the process' exit code.
// REQUIRES: called once, from main(), before any other thread exists. Exit codes are those of
// ExitCode (walrelay/error.h); an invalid command line is 64. --help and --version print to
// standard output and return 0. CLI11 reports errors as exceptions, which do not leave this
// function.
int RunCommandLine(int argc, char** argv);

// This runs other commands than those of commands.def.
int RunCommandLine(const std::vector<Command>& commands, int argc, char** argv);

}  // namespace walrelay
