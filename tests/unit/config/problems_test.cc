#include "config/problems.h"

#include <gtest/gtest.h>

#include "fakes/status_matchers.h"
#include "walrelay/error.h"

namespace walrelay {
namespace {

absl::Status Wrong(std::string_view what) {
  return Error(ErrorCode::kConfigValue, what);
}

TEST(ConfigProblemsTest, NoProblemIsNoError) {
  EXPECT_THAT(ConfigProblems().ToStatus(), IsOk());
  EXPECT_TRUE(ConfigProblems().empty());
}

TEST(ConfigProblemsTest, SingleProblemKeepsItsCodeAndNamesItsOrigin) {
  ConfigProblems problems;
  problems.Add({"a.toml:3:8", 3, 8}, "source.slot",
               Error(ErrorCode::kSecretFile, "no such file", "Create it."));
  EXPECT_THAT(problems.ToStatus(), HasError(ErrorCode::kSecretFile, "a.toml:3:8: no such file"));
  EXPECT_EQ(RemedyFor(problems.ToStatus()), "Create it.");
}

TEST(ConfigProblemsTest, ProblemsAreInTheOrderOfTheFile) {
  ConfigProblems problems;
  problems.Add({"variable X"}, "", Wrong("x"));
  problems.Add({"f:10:1", 10, 1}, "", Wrong("c"));
  problems.Add({}, "", Wrong("y"));
  problems.Add({"f:9:20", 9, 20}, "", Wrong("b"));
  problems.Add({"f:9:3", 9, 3}, "", Wrong("a"));
  EXPECT_EQ(MessageOf(problems.ToStatus()), "f:9:3: a; f:9:20: b; f:10:1: c; variable X: x; y");
}

TEST(ConfigProblemsTest, ProblemsConcernTheirOptions) {
  ConfigProblems problems;
  problems.Add({}, "source.slot", Wrong("x"));
  problems.Add({}, "", Wrong("y"));
  EXPECT_TRUE(problems.Concern("source.slot"));
  EXPECT_FALSE(problems.Concern("source.dsn"));
  EXPECT_FALSE(problems.Concern(""));
  EXPECT_TRUE(problems.Concern("source")) << "a section with such an option";
  EXPECT_FALSE(problems.Concern("sourc"));
  EXPECT_FALSE(problems.Concern("kafka"));
}

}  // namespace
}  // namespace walrelay
