#include "auth/json_fields.h"

#include <gtest/gtest.h>

namespace walrelay {
namespace {

TEST(JsonFieldsTest, StringsAndNumbersAreReadByName) {
  const auto fields = JsonFields::Parse(
      R"( {"token": "a\"b", "exp": 1700000000, "late": 1.7e9, "nested": {"exp": 1}, "on": true} )");
  ASSERT_TRUE(fields);
  EXPECT_EQ(fields->Text("token").Reveal(), "a\"b");
  EXPECT_EQ(fields->Number("exp"), 1'700'000'000);
  EXPECT_EQ(fields->Number("late"), 1'700'000'000);
  EXPECT_EQ(fields->Text("exp").Reveal(), "");
  EXPECT_EQ(fields->Number("token"), std::nullopt);
  EXPECT_EQ(fields->Number("missing"), std::nullopt);
  EXPECT_EQ(fields->Text("nested").Reveal(), "");
}

TEST(JsonFieldsTest, OtherTextIsNoObject) {
  for (const char* text : {"", "[]", "1", "\"text\"", "{", "{\"a\":}", "token"}) {
    EXPECT_FALSE(JsonFields::Parse(text)) << text;
  }
}

TEST(JsonFieldsTest, NumberBeyondTheRangeIsAbsent) {
  const auto fields = JsonFields::Parse(R"({"a": 1e300, "b": 18446744073709551615})");
  EXPECT_EQ(fields->Number("a"), std::nullopt);
  EXPECT_EQ(fields->Number("b"), std::nullopt);
}

}  // namespace
}  // namespace walrelay
