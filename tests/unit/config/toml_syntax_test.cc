#include "config/toml_syntax.h"

#include <gtest/gtest.h>

namespace walrelay {
namespace {

std::string Dotted(size_t dots) {
  std::string key = "a";
  for (size_t i = 0; i < dots; ++i) {
    key += ".a";
  }
  return key;
}

TEST(TomlSyntaxTest, EndlessKeyIsFound) {
  EXPECT_FALSE(HasEndlessKey(Dotted(kMaxKeyParts - 1) + " = 1"));
  EXPECT_TRUE(HasEndlessKey(Dotted(kMaxKeyParts) + " = 1"));
  EXPECT_TRUE(HasEndlessKey("[" + Dotted(kMaxKeyParts) + "]"));
}

TEST(TomlSyntaxTest, DotsOfSeveralKeysDoNotCountTogether) {
  const std::string half = Dotted(kMaxKeyParts / 2);
  for (const char* between : {" = 1\n", " = [", " = {", ","}) {
    EXPECT_FALSE(HasEndlessKey(half + between + half + between + half)) << between;
  }
}

TEST(TomlSyntaxTest, MessageNamesTheKeyAndNotTheValue) {
  constexpr std::string_view kText = "[source]\n password = hunter2\nslot = \"open\n";
  EXPECT_EQ(SyntaxMessage(kText, 2, 13, "could not determine value type"),
            "password: text must be in quotes: password = \"…\"");
  EXPECT_EQ(SyntaxMessage(kText, 3, 13, "control characters other than TAB are not allowed"),
            "slot: the string is not closed: a quote is missing");
}

TEST(TomlSyntaxTest, OtherMessagesAreThoseOfTheParser) {
  EXPECT_EQ(SyntaxMessage("a\x01 = 1", 1, 2, "control characters other than TAB are invalid"),
            "control characters other than TAB are invalid");
  EXPECT_EQ(SyntaxMessage("", 9, 1, "unexpected end"), "unexpected end");
}

}  // namespace
}  // namespace walrelay
