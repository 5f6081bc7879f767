#include "base/json_writer.h"

#include <gtest/gtest.h>

#include <vector>

namespace walrelay {
namespace {

TEST(JsonWriterTest, MembersKeepTheirOrder) {
  JsonObject out;
  out.Add("z", "text");
  out.Add("a", true);
  out.Add("number", uint64_t{18446744073709551615u});
  out.Add("ratio", 1.5);
  out.Add("whole", 2.0);
  out.Add("at", WallTime(Micros(0)));
  EXPECT_EQ(std::move(out).Finish(),
            R"({"z":"text","a":true,"number":18446744073709551615,"ratio":1.5,"whole":2,)"
            R"("at":"1970-01-01T00:00:00.000000Z"})");
}

TEST(JsonWriterTest, AbsentValuesAreOmittedOrNull) {
  JsonObject out;
  out.Add("number", std::optional<int>());
  out.AddText("text", "");
  EXPECT_EQ(std::move(out).Finish(), "{}");
  JsonObject nulls;
  nulls.AddOrNull("key", std::optional<std::string_view>());
  nulls.AddOrNull("partition", std::optional(3));
  EXPECT_EQ(std::move(nulls).Finish(), R"({"key":null,"partition":3})");
  EXPECT_EQ(JsonText(std::nullopt), "null");
}

TEST(JsonWriterTest, NamesAndTextsAreEscaped) {
  JsonObject out;
  out.Add("a\"b", "c\nd");
  EXPECT_EQ(std::move(out).Finish(), R"({"a\"b":"c\nd"})");
}

TEST(JsonWriterTest, ArraysHoldAnyJson) {
  EXPECT_EQ(JsonArray(std::vector<std::string_view>{"a", "b"}, JsonText), R"(["a","b"])");
  EXPECT_EQ(JsonArray(std::vector<std::string_view>(), JsonText), "[]");
}

}  // namespace
}  // namespace walrelay
