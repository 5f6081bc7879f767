// Command: a command of the program as a value: its name, its flags and its function.
//
// Each command has one source file. It contains the struct of the flags, a function that declares
// them (flag_set.h), a function that executes the command, and a factory that commands.def lists.
//
// A command runs on the main thread and blocks until it has ended. It loads the configuration
// itself, with the addresses that it needs (ConfigNeeds). It returns the exit code of the process
// and has printed the reason: results to standard output, everything else to standard error. Or it
// returns an error, which the command line prints with Report(): that determines the exit code.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "cli/command_tree.h"
#include "cli/flag_set.h"
#include "walrelay/error.h"

namespace walrelay {

// AllCommands lets a command print the others. It exists while a command runs.
class AllCommands {
 public:
  virtual ~AllCommands() = default;

  // The tree has no hidden commands.
  virtual CommandTree Tree() const = 0;
  // Prints what --help prints for the command with these names: {"config", "show"}; {}: the
  // program. An unknown command is a usage error, which is printed.
  virtual ExitCode PrintHelp(const std::vector<std::string>& names) const = 0;
};

// Copies share the flags.
struct Command {
  std::string name;
  std::string description;  // a sentence for --help, without a full stop
  // Adds the flags to the command line, before it is parsed. Names and formats are checked there;
  // values that depend on the configuration are checked by the command.
  std::function<void(FlagSet& set)> declare;
  // Runs after all flags have been parsed, at most once.
  std::function<absl::StatusOr<ExitCode>(const AllCommands& all)> execute;
  // A command with further ones needs one of them on the line, and has no flags or function itself.
  std::vector<Command> commands;
  bool hidden = false;  // --help does not list it
};

// The closures own the flags, so that these live as long as the command.
template <typename Flags>
Command MakeCommand(std::string name, std::string description,
                    void (*declare)(FlagSet& set, Flags& flags),
                    absl::StatusOr<ExitCode> (*execute)(const Flags& flags,
                                                        const AllCommands& all)) {
  const auto flags = std::make_shared<Flags>();
  return {.name = std::move(name),
          .description = std::move(description),
          .declare = [=](FlagSet& set) { declare(set, *flags); },
          .execute = [=](const AllCommands& all) { return execute(*flags, all); }};
}

template <typename Flags>
Command MakeCommand(std::string name, std::string description,
                    void (*declare)(FlagSet& set, Flags& flags),
                    absl::StatusOr<ExitCode> (*execute)(const Flags& flags)) {
  const auto flags = std::make_shared<Flags>();
  return {.name = std::move(name),
          .description = std::move(description),
          .declare = [=](FlagSet& set) { declare(set, *flags); },
          .execute = [=](const AllCommands&) { return execute(*flags); }};
}

// Makes a command without flags.
inline Command MakeCommand(std::string name, std::string description,
                           absl::StatusOr<ExitCode> (*execute)()) {
  return {.name = std::move(name),
          .description = std::move(description),
          .execute = [=](const AllCommands&) { return execute(); }};
}

// Makes a command that only has further ones.
inline Command MakeGroup(std::string name, std::string description, std::vector<Command> commands) {
  return {.name = std::move(name),
          .description = std::move(description),
          .commands = std::move(commands)};
}

// Prints an error to standard error, with its meaning and remedy; returns its exit code.
// REQUIRES: !error.ok().
ExitCode Report(const absl::Status& error);

}  // namespace walrelay
