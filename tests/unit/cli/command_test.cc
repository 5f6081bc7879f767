// The command line runs, nests, hides and describes commands.
#include "cli/command.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/command_line.h"
#include "fakes/captured_stream.h"

namespace walrelay {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

struct TestFlags {
  int code = 0;
};

void Declare(FlagSet& set, TestFlags& flags) {
  set.Add("--code", flags.code, "INT", "The exit code");
}

absl::StatusOr<ExitCode> Execute(const TestFlags& flags) {
  return static_cast<ExitCode>(flags.code);
}

absl::StatusOr<ExitCode> PrintTree(const TestFlags& /*flags*/, const AllCommands& all) {
  for (const CommandNode& command : all.Tree().program.commands) {
    fmt::print("{}\n", command.name);
  }
  return ExitCode::kOk;
}

absl::StatusOr<ExitCode> PrintHelp(const TestFlags& /*flags*/, const AllCommands& all) {
  return all.PrintHelp({"group", "inner"});
}

absl::StatusOr<ExitCode> Fail() {
  return ExitCode::kData;
}

std::vector<Command> Commands() {
  std::vector<Command> commands = {
      MakeCommand<TestFlags>("exit", "Exit", Declare, Execute),
      MakeCommand("fail", "Fail", Fail),
      MakeGroup("group", "A group",
                {MakeCommand<TestFlags>("inner", "Exit, too", Declare, Execute)}),
      MakeCommand<TestFlags>("tree", "Print the tree", Declare, PrintTree),
      MakeCommand<TestFlags>("explain", "Print help", Declare, PrintHelp),
      MakeCommand("hidden", "Fail secretly", Fail),
  };
  commands.back().hidden = true;
  return commands;
}

class CommandTest : public ::testing::Test {
 protected:
  int Run(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), "walrelay");
    std::vector<char*> argv;
    for (std::string& argument : arguments) {
      argv.push_back(argument.data());
    }
    const testing::CapturedStream out(stdout);
    const testing::CapturedStream error(stderr);
    const int code = RunCommandLine(Commands(), static_cast<int>(argv.size()), argv.data());
    out_ = out.Text();
    error_ = error.Text();
    return code;
  }

  std::string out_;
  std::string error_;
};

TEST_F(CommandTest, CommandGetsItsFlagsAndReturnsTheExitCode) {
  EXPECT_EQ(Run({"exit"}), 0);
  EXPECT_EQ(Run({"exit", "--code", "3"}), 3);
  EXPECT_EQ(Run({"fail"}), 65);
  EXPECT_EQ(Run({"fail", "--code", "3"}), 64);
}

TEST_F(CommandTest, FlagsOfTwoCommandsAreSeparate) {
  EXPECT_EQ(Run({"group", "inner", "--code", "4"}), 4);
  EXPECT_EQ(Run({"group", "inner"}), 0);
}

TEST_F(CommandTest, GroupNeedsOneOfItsCommands) {
  EXPECT_EQ(Run({"group"}), 64);
  EXPECT_THAT(error_, HasSubstr("group: a command is missing"));
  EXPECT_EQ(Run({"inner"}), 64);
}

TEST_F(CommandTest, HiddenCommandRunsAndIsNotListed) {
  EXPECT_EQ(Run({"hidden"}), 65);
  EXPECT_EQ(Run({"--help"}), 0);
  EXPECT_THAT(out_, HasSubstr("\n  fail "));
  EXPECT_THAT(out_, Not(HasSubstr("hidden")));
}

TEST_F(CommandTest, TreeHasTheCommandsInTheirOrder) {
  EXPECT_EQ(Run({"tree"}), 0);
  EXPECT_EQ(out_, "exit\nfail\ngroup\ntree\nexplain\n");
}

TEST_F(CommandTest, HelpOfAnotherCommandIsThatOfItsFlag) {
  EXPECT_EQ(Run({"group", "inner", "--help"}), 0);
  const std::string help = out_;
  EXPECT_EQ(Run({"explain"}), 0);
  EXPECT_EQ(out_, help);
}

}  // namespace
}  // namespace walrelay
