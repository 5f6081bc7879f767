// `walrelay help`: shows the help of a command.

#include "cli/commands.h"

namespace walrelay {
namespace {

struct HelpFlags {
  std::vector<std::string> command;
};

void Declare(FlagSet& set, HelpFlags& flags) {
  set.Add("command", flags.command, "COMMAND", "The command, for example: run, or config show");
}

absl::StatusOr<ExitCode> Execute(const HelpFlags& flags, const AllCommands& all) {
  return all.PrintHelp(flags.command);
}

}  // namespace

// It prints the same text as --help.
Command HelpCommand() {
  return MakeCommand<HelpFlags>("help", "Show the help of a command", Declare, Execute);
}

}  // namespace walrelay
