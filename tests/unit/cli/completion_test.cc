#include "cli/completion.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace walrelay {
namespace {

using ::testing::HasSubstr;

// tests/lint/completion_test.py completes real command lines in bash and checks the syntax of the
// other scripts; here only what a description or a value may do to a script.
CommandTree Tree() {
  CommandTree tree;
  tree.program = {.name = "walrelay", .description = "Publishes", .flags = {}, .commands = {}};
  tree.program.commands = {
      {.name = "run",
       .description = "Run the relay's loop [always]: until it is stopped",
       .flags =
           {{.names = {"-c", "--config"}, .value = "FILE", .description = "The file"},
            {.names = {"--set"}, .value = "KEY=VALUE", .description = "Set", .repeatable = true},
            {.names = {"--events"}, .value = "FORMAT", .description = "Print"}},
       .commands = {}}};
  tree.values = {{"KEY=VALUE", {"a.b=", "a.c="}}, {"FORMAT", {"text", "json"}}};
  return tree;
}

std::string Script(std::string_view shell) {
  return CompletionScript(Tree(), shell).value_or("");
}

TEST(CompletionTest, EachShellHasAScript) {
  for (const std::string_view shell : kShells) {
    EXPECT_THAT(Script(shell), HasSubstr("walrelay completion " + std::string(shell)));
  }
  EXPECT_EQ(CompletionScript(Tree(), "tcsh"), std::nullopt);
}

TEST(CompletionTest, FlagsOfACommandAreProposed) {
  EXPECT_THAT(Script("bash"), HasSubstr("\"run\") words=\"-c --config --set --events\""));
  EXPECT_THAT(Script("zsh"), HasSubstr("'(-c --config)'{-c,--config}'[The file]:FILE:_files'"));
  EXPECT_THAT(Script("fish"),
              HasSubstr("-n '__fish_seen_subcommand_from run' -s c -l config -r -F"));
}

TEST(CompletionTest, ValuesOfAFlagAreProposed) {
  EXPECT_THAT(Script("bash"), HasSubstr("\"run --events\") value=\"FORMAT\""));
  EXPECT_THAT(Script("bash"), HasSubstr("FORMAT) words=\"text json\""));
  EXPECT_THAT(Script("zsh"), HasSubstr("'--events[Print]:FORMAT:(text json)'"));
  EXPECT_THAT(Script("fish"), HasSubstr("-l events -x -a 'text json'"));
}

TEST(CompletionTest, RepeatableFlagIsProposedAgain) {
  EXPECT_THAT(Script("zsh"), HasSubstr("'*--set[Set]:KEY=VALUE:"));
}

TEST(CompletionTest, DescriptionsAreQuoted) {
  EXPECT_THAT(Script("zsh"), HasSubstr("'run:Run the relay'\\''s loop \\[always\\]'"));
  EXPECT_THAT(Script("fish"), HasSubstr("-a run -d 'Run the relay\\'s loop [always]'"));
}

}  // namespace
}  // namespace walrelay
