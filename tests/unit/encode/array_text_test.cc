#include "encode/array_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <string_view>

namespace walrelay {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Optional;

TEST(ArrayTextTest, ElementsAreTextsOrNull) {
  Arena arena;
  EXPECT_THAT(ParseArray("{}", arena), Optional(IsEmpty()));
  EXPECT_THAT(ParseArray("{a,b c}", arena), Optional(ElementsAre("a", "b c")));
  EXPECT_THAT(ParseArray(R"({NULL,"NULL",null})", arena),
              Optional(ElementsAre(std::nullopt, "NULL", "null")));
}

TEST(ArrayTextTest, QuotedElementsAreUnescaped) {
  Arena arena;
  EXPECT_THAT(ParseArray(R"({"","a,b}","q\"t\\"})", arena),
              Optional(ElementsAre("", "a,b}", "q\"t\\")));
}

TEST(ArrayTextTest, ExplicitBoundsAreIgnored) {
  Arena arena;
  EXPECT_THAT(ParseArray("[2:3]={7,8}", arena), Optional(ElementsAre("7", "8")));
}

TEST(ArrayTextTest, OtherTextIsNoArray) {
  Arena arena;
  for (const char* text : {"", "{", "}", "a", "{a", "a}", "{{a}}", "{a,}", "{,a}", "{a}b}", "[",
                           "[=", R"({"a})", R"({"a\})", R"({a"b"})"}) {
    EXPECT_EQ(ParseArray(text, arena), std::nullopt) << text;
  }
}

}  // namespace
}  // namespace walrelay
