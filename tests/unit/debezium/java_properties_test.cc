#include "debezium/java_properties.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fakes/status_matchers.h"

namespace walrelay {
namespace {

using ::testing::ElementsAre;
using ::testing::Pair;

JavaProperties Parse(std::string_view text) {
  const auto parsed = ParseJavaProperties(text);
  EXPECT_THAT(parsed, IsOk());
  return parsed.ok() ? *parsed : JavaProperties();
}

TEST(JavaPropertiesTest, NameEndsAtTheFirstSeparator) {
  EXPECT_THAT(Parse("a=1\nb : 2\r\nc 3\rd\n e=f=g \n"),
              ElementsAre(Pair("a", "1"), Pair("b", "2"), Pair("c", "3"), Pair("d", ""),
                          Pair("e", "f=g ")));
}

TEST(JavaPropertiesTest, CommentsAndEmptyLinesAreIgnored) {
  EXPECT_THAT(Parse("# x=1\n  ! y=2\n\n   \nz=3"), ElementsAre(Pair("z", "3")));
}

TEST(JavaPropertiesTest, BackslashContinuesALine) {
  EXPECT_THAT(Parse("a=1,\\\n   2,\\\r\n\t3\nb=x\\\\\nc=y\\"),
              ElementsAre(Pair("a", "1,2,3"), Pair("b", "x\\"), Pair("c", "y")));
}

TEST(JavaPropertiesTest, EscapesAreDecoded) {
  EXPECT_THAT(Parse("a\\ b\\=c=\\t\\u00e9\\u20AC\\q\\:"), ElementsAre(Pair("a b=c", "\té€q:")));
}

TEST(JavaPropertiesTest, ErrorsNameTheLine) {
  EXPECT_THAT(ParseJavaProperties("a=1\nb=2\na=3"), HasError(ErrorCode::kConfigSyntax, "line 3"));
  EXPECT_THAT(ParseJavaProperties("\na=\\u12x4"), HasError(ErrorCode::kConfigSyntax, "line 2"));
  EXPECT_THAT(ParseJavaProperties("a=\\u12"), HasError(ErrorCode::kConfigSyntax, "line 1"));
}

}  // namespace
}  // namespace walrelay
