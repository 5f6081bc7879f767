// The command line: which command, with which flags.
#pragma once

namespace walrelay {

// Parses, runs the command, and returns the process' exit code.
int RunCommandLine(int argc, char** argv);

}  // namespace walrelay
