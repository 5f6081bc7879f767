// The command line keeps the rules that a command declares.
#include "cli/flag_set.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <optional>

#include "cli/command_line.h"
#include "fakes/captured_stream.h"

namespace walrelay {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class FlagSetTest : public ::testing::Test {
 protected:
  using Declare = std::function<void(FlagSet& set)>;

  // Runs a command with these flags; returns whether the line is valid.
  bool Accepts(const Declare& declare, std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), {"walrelay", "test"});
    std::vector<char*> argv;
    for (std::string& argument : arguments) {
      argv.push_back(argument.data());
    }
    bool executed = false;
    const Command command{.name = "test",
                          .description = "A test",
                          .declare = declare,
                          .execute = [&](const AllCommands&) {
                            executed = true;
                            return ExitCode::kOk;
                          }};
    const testing::CapturedStream out(stdout);
    const testing::CapturedStream error(stderr);
    const int code = RunCommandLine({command}, static_cast<int>(argv.size()), argv.data());
    out_ = out.Text();
    error_ = error.Text();
    EXPECT_EQ(code, executed || !out_.empty() ? 0 : 64);
    return executed;
  }

  std::string out_;
  std::string error_;
};

TEST_F(FlagSetTest, FlagHasNoValue) {
  bool json = false;
  const auto declare = [&](FlagSet& set) { set.Add("--json", json, "Print JSON"); };
  EXPECT_TRUE(Accepts(declare, {}));
  EXPECT_FALSE(json);
  EXPECT_TRUE(Accepts(declare, {"--json"}));
  EXPECT_TRUE(json);
  EXPECT_FALSE(Accepts(declare, {"--json", "yes"}));
}

TEST_F(FlagSetTest, ValueIsKeptWithoutTheFlag) {
  std::string header = "usual";
  const auto declare = [&](FlagSet& set) { set.Add("--header", header, "NAME", "A header"); };
  EXPECT_TRUE(Accepts(declare, {}));
  EXPECT_EQ(header, "usual");
  EXPECT_TRUE(Accepts(declare, {"--header", "other"}));
  EXPECT_EQ(header, "other");
  EXPECT_FALSE(Accepts(declare, {"--header"}));
}

TEST_F(FlagSetTest, ShortAndLongNameAreTheSameFlag) {
  std::string file;
  const auto declare = [&](FlagSet& set) { set.Add("-o,--output", file, "FILE", "A file"); };
  EXPECT_TRUE(Accepts(declare, {"-o", "a"}));
  EXPECT_EQ(file, "a");
  EXPECT_TRUE(Accepts(declare, {"--output=b"}));
  EXPECT_EQ(file, "b");
}

TEST_F(FlagSetTest, NumbersAreParsed) {
  uint64_t limit = 0;
  int seconds = 0;
  double rate = 0;
  const auto declare = [&](FlagSet& set) {
    set.Add("--limit", limit, "N", "A limit");
    set.Add("--seconds", seconds, "INT", "A time").Between(2, 60);
    set.Add("--rate", rate, "FLOAT", "A rate").Between(0.5, 10.0);
  };
  EXPECT_TRUE(
      Accepts(declare, {"--limit", "18446744073709551615", "--seconds", "60", "--rate", "0.5"}));
  EXPECT_EQ(limit, UINT64_MAX);
  EXPECT_EQ(seconds, 60);
  EXPECT_EQ(rate, 0.5);
  EXPECT_FALSE(Accepts(declare, {"--limit", "many"}));
  EXPECT_FALSE(Accepts(declare, {"--seconds", "1"}));
  EXPECT_FALSE(Accepts(declare, {"--seconds", "61"}));
  EXPECT_FALSE(Accepts(declare, {"--rate", "0.4"}));
}

TEST_F(FlagSetTest, VectorMakesAFlagRepeatable) {
  std::vector<std::string> ids;
  const auto declare = [&](FlagSet& set) { set.Add("--id", ids, "ID", "A row"); };
  EXPECT_TRUE(Accepts(declare, {"--id", "1", "--id", "2"}));
  EXPECT_THAT(ids, ElementsAre("1", "2"));
  std::string id;
  EXPECT_FALSE(Accepts([&](FlagSet& set) { set.Add("--id", id, "ID", "A row"); },
                       {"--id", "1", "--id", "2"}));
}

TEST_F(FlagSetTest, OptionalHasAValueOnlyWithTheFlag) {
  std::optional<std::string> key;
  const auto declare = [&](FlagSet& set) { set.Add("--key", key, "KEY", "A key"); };
  EXPECT_TRUE(Accepts(declare, {}));
  EXPECT_EQ(key, std::nullopt);
  EXPECT_TRUE(Accepts(declare, {"--key", "a"}));
  EXPECT_EQ(key, "a");
}

TEST_F(FlagSetTest, ValueOfAFlagMayBeOptional) {
  bool given = false;
  std::string gap;
  bool json = false;
  const auto declare = [&](FlagSet& set) {
    set.AddWithOptionalValue("--accept-gap", given, gap, "[ID]", "Accept");
    set.Add("--json", json, "Print JSON");
  };
  EXPECT_TRUE(Accepts(declare, {"--json"}));
  EXPECT_FALSE(given);
  EXPECT_TRUE(Accepts(declare, {"--accept-gap", "--json"}));
  EXPECT_TRUE(given);
  EXPECT_EQ(gap, "");
  EXPECT_TRUE(Accepts(declare, {"--accept-gap", "7"}));
  EXPECT_EQ(gap, "7");
  EXPECT_FALSE(Accepts(declare, {"--accept-gap", "7", "8"}));
}

TEST_F(FlagSetTest, OnlyTheAllowedValuesAreAccepted) {
  std::string format;
  const auto declare = [&](FlagSet& set) {
    set.Add("--events", format, "FORMAT", "A format").OneOf({"text", "json"});
  };
  EXPECT_TRUE(Accepts(declare, {"--events", "json"}));
  EXPECT_EQ(format, "json");
  EXPECT_FALSE(Accepts(declare, {"--events", "xml"}));
  EXPECT_THAT(error_, HasSubstr("{text,json}"));
}

TEST_F(FlagSetTest, RequiredFlagMustBeGiven) {
  std::string lsn;
  const auto declare = [&](FlagSet& set) { set.Add("--lsn", lsn, "LSN", "An LSN").Required(); };
  EXPECT_TRUE(Accepts(declare, {"--lsn", "0/1"}));
  EXPECT_FALSE(Accepts(declare, {}));
  EXPECT_THAT(error_, HasSubstr("--lsn is required"));
}

TEST_F(FlagSetTest, FlagThatNeedsAnotherIsRefusedWithoutIt) {
  bool dry_run = false;
  bool json = false;
  const auto declare = [&](FlagSet& set) {
    set.Add("--dry-run", dry_run, "Print");
    set.Add("--json", json, "Print JSON").Needs("--dry-run");
  };
  EXPECT_TRUE(Accepts(declare, {"--dry-run"}));
  EXPECT_TRUE(Accepts(declare, {"--json", "--dry-run"}));
  EXPECT_FALSE(Accepts(declare, {"--json"}));
  EXPECT_THAT(error_, HasSubstr("--json requires --dry-run"));
}

TEST_F(FlagSetTest, FlagsThatExcludeEachOtherAreRefusedTogether) {
  std::string since;
  bool all = false;
  const auto declare = [&](FlagSet& set) {
    set.Add("--since", since, "TIME", "A time");
    set.Add("--all", all, "All").Excludes("--since");
  };
  EXPECT_TRUE(Accepts(declare, {"--all"}));
  EXPECT_TRUE(Accepts(declare, {"--since", "t"}));
  EXPECT_FALSE(Accepts(declare, {"--since", "t", "--all"}));
  EXPECT_THAT(error_, HasSubstr("excludes"));
}

TEST_F(FlagSetTest, NameWithoutDashesIsAnArgument) {
  std::string file;
  std::vector<std::string> rest;
  const auto declare = [&](FlagSet& set) {
    set.Add("file", file, "FILE", "A file").Required();
    set.Add("rest", rest, "WORD", "Words");
  };
  EXPECT_TRUE(Accepts(declare, {"a", "b", "c"}));
  EXPECT_EQ(file, "a");
  EXPECT_THAT(rest, ElementsAre("b", "c"));
  EXPECT_FALSE(Accepts(declare, {}));
}

TEST_F(FlagSetTest, HelpNamesTypesAndRules) {
  std::string format;
  bool all = false;
  EXPECT_FALSE(Accepts(
      [&](FlagSet& set) {
        set.Add("--all", all, "Everything");
        set.Add("--events", format, "FORMAT", "Print events").OneOf({"text"}).Needs("--all");
      },
      {"--help"}));
  EXPECT_THAT(out_, HasSubstr("--events FORMAT:{text} Needs: --all"));
  EXPECT_THAT(out_, HasSubstr("Print events"));
}

}  // namespace
}  // namespace walrelay
