#include "route/java_regex.h"

#include <gtest/gtest.h>

#include <string>

#include "fakes/status_matchers.h"

namespace walrelay {
namespace {

std::string Translated(std::string_view java) {
  const auto re2 = ToRe2Syntax(java);
  EXPECT_THAT(re2, IsOk());
  return re2.value_or("");
}

TEST(JavaRegexTest, NamedGroupsHaveTheSyntaxOfRe2) {
  EXPECT_EQ(Translated("(?<type>.*)-(?<id>x)"), "(?P<type>.*)-(?P<id>x)");
}

TEST(JavaRegexTest, OtherConstructsAreUnchanged) {
  for (const char* regex : {"", "a.*b", "(?i)a", "(?i-s:a)", "(?:a)", "[a-z]+", "[^]a]", "[]a]",
                            "\\(?<a>", "\\Q(?<a>[[&&\\E(b)", "\\Qopen (?<a>", "[(?<a>]", "a\\"}) {
    EXPECT_EQ(Translated(regex), regex);
  }
}

// RE2 rejects them itself.
TEST(JavaRegexTest, LookAroundIsUnchanged) {
  for (const char* regex : {"(?<=a)b", "(?<!a)b", "(?=a)", "(a)\\1"}) {
    EXPECT_EQ(Translated(regex), regex);
  }
}

TEST(JavaRegexTest, ConstructsOfTwoMeaningsAreRefused) {
  for (const char* regex : {"[a[b]]", "[a-z&&[^b]]", "[a&&b]", "(?U)a", "(?iU:a)", "(?i-U)a"}) {
    EXPECT_THAT(ToRe2Syntax(regex), HasError(ErrorCode::kConfigValue, "different meanings"))
        << regex;
  }
}

}  // namespace
}  // namespace walrelay
