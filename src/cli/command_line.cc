// CLI11 is large: only this file, flag_set.cc, command_tree_builder.cc and unknown_argument.cc
// include it.

#include "cli/command_line.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <functional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/text.h"
#include "cli/command_tree_builder.h"
#include "cli/commands.h"
#include "cli/unknown_argument.h"
#include "walrelay/version.h"

namespace walrelay {
namespace {

constexpr std::pair<ExitCode, const char*> kExitCodes[] = {
    {ExitCode::kOk, "success"},
    {ExitCode::kProblemsFound, "problems found"},
    {ExitCode::kGap, "possible gap: operator action required"},
    {ExitCode::kRow, "stopped by a row"},
    {ExitCode::kUsage, "usage error"},
    {ExitCode::kData, "invalid input"},
    {ExitCode::kUnavailable, "unavailable"},
    {ExitCode::kInternal, "internal error"},
    {ExitCode::kTemporary, "stopped early"},
    {ExitCode::kPermission, "permission denied"},
    {ExitCode::kConfiguration, "invalid configuration"}};

// "Exit codes: 0 success, 3 problems found, …", in lines that fit a terminal.
std::string Footer() {
  std::string out;
  std::string line = "Exit codes:";
  for (const auto& [code, meaning] : kExitCodes) {
    const std::string item = fmt::format(" {} {},", static_cast<int>(code), meaning);
    if (line.size() + item.size() > 80) {
      out += line + "\n";
      line = item.substr(1);
    } else {
      line += item;
    }
  }
  line.back() = '.';
  return out + line;
}

std::vector<Command> CommandsOfTheProgram() {
  return {
#define WALRELAY_COMMAND(factory) factory(),
#include "cli/commands.def"
#undef WALRELAY_COMMAND
  };
}

class CommandLine final : public AllCommands {
 public:
  explicit CommandLine(const std::vector<Command>& commands) {
    app_.require_subcommand(1);
    app_.set_version_flag("--version", std::string(Version()));
    app_.footer(Footer());
    for (const Command& command : commands) {
      Add(app_, command);
    }
  }

  // CLI11 reports an invalid command line by an exception. The command itself runs after parsing,
  // outside of the try block.
  int Run(int argc, char** argv) {
    try {
      app_.parse(argc, argv);
    } catch (const CLI::ParseError& error) {
      return OnParseError(error, {argv + 1, argv + std::max(argc, 1)});
    }
    const absl::StatusOr<ExitCode> code = chosen_(*this);
    return static_cast<int>(code.ok() ? *code : Report(code.status()));
  }

  CommandTree Tree() const override {
    CommandTree tree = BuildCommandTree(app_);
    for (const auto& [code, meaning] : kExitCodes) {
      tree.exit_statuses.push_back({static_cast<int>(code), meaning});
    }
    return tree;
  }

  ExitCode PrintHelp(const std::vector<std::string>& names) const override {
    const CLI::App* command = &app_;
    std::string path = command->get_name();
    for (const std::string& name : names) {
      const CLI::App* inner = Subcommand(*command, name);
      if (inner == nullptr) {
        return UsageError(UnknownCommand(*command, name));
      }
      command = inner;
      path += " " + command->get_name();
    }
    // help() would show the help of the command that runs, the formatter does not.
    fmt::print("{}",
               command->get_formatter()->make_help(command, path, CLI::AppFormatMode::Normal));
    return ExitCode::kOk;
  }

 private:
  // Replaces the exit codes of CLI11: the documented code for an invalid command line is 64.
  int OnParseError(const CLI::ParseError& error, std::span<char*> arguments) {
    if (error.get_exit_code() == 0) {
      return app_.exit(error);  // --help, --version
    }
    // CLI11 names neither a misspelt command nor what was meant by a misspelt flag.
    const bool unknown = dynamic_cast<const CLI::RequiredError*>(&error) != nullptr ||
                         dynamic_cast<const CLI::ExtrasError*>(&error) != nullptr;
    const std::string message = unknown ? FirstUnknown(app_, arguments) : "";
    return static_cast<int>(UsageError(message.empty() ? error.what() : message));
  }

  // The message quotes the arguments, which may contain control characters.
  static ExitCode UsageError(std::string_view message) {
    fmt::print(stderr, "walrelay: {}\n  what to do: walrelay --help, or walrelay COMMAND --help\n",
               Printable(message));
    return ExitCode::kUsage;
  }

  void Add(CLI::App& parent, const Command& command) {
    CLI::App& added = *parent.add_subcommand(command.name, command.description);
    if (command.hidden) {
      added.group("");
    }
    if (!command.commands.empty()) {
      added.require_subcommand(1);
      for (const Command& inner : command.commands) {
        Add(added, inner);
      }
      return;
    }
    if (FlagSet flags(added); command.declare) {
      command.declare(flags);
    }
    added.callback([this, execute = command.execute] { chosen_ = execute; });
  }

  CLI::App app_{
      "walrelay publishes the outbox table of a Postgres database to Kafka, from the write-ahead "
      "log (WAL).",
      "walrelay"};
  // Set by the callback of the one command that the line names; require_subcommand() guarantees
  // that there is one.
  std::function<absl::StatusOr<ExitCode>(const AllCommands&)> chosen_;
};

}  // namespace

int RunCommandLine(const std::vector<Command>& commands, int argc, char** argv) {
  return CommandLine(commands).Run(argc, argv);
}

int RunCommandLine(int argc, char** argv) {
  return RunCommandLine(CommandsOfTheProgram(), argc, argv);
}

}  // namespace walrelay
