#include "encode/hstore_text.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>

namespace walrelay {
namespace {

class HstoreTextTest : public ::testing::Test {
 protected:
  // The keys in their order, separated by spaces; "-": not an hstore.
  std::string Keys(std::string_view text) {
    const auto pairs = ParseHstore(text, arena_);
    if (!pairs) {
      return "-";
    }
    std::string keys;
    for (const auto& [key, value] : *pairs) {
      keys += (keys.empty() ? "" : " ") + std::string(key);
    }
    return keys;
  }
  // An hstore of keys that all have the same hash: "Aa" and "BB" do.
  static std::string Collisions(size_t count) {
    std::string text;
    for (size_t i = 0; i < count; ++i) {
      std::string key;
      for (size_t bit = 0; bit < 4; ++bit) {
        key += (i >> bit & 1) != 0 ? "BB" : "Aa";
      }
      text += fmt::format("{}\"{}\"=>\"\"", i == 0 ? "" : ", ", key);
    }
    return text;
  }

  Arena arena_;
};

TEST_F(HstoreTextTest, ValuesMayBeNullAndEscaped) {
  const auto pairs = ParseHstore(R"("a"=>NULL, "b"=>"NULL", "c\""=>"\\\"", ""=>"")", arena_);
  ASSERT_TRUE(pairs.has_value());
  const std::vector<HstorePair> expected = {
      {"", ""}, {"a", std::nullopt}, {"b", "NULL"}, {"c\"", "\\\""}};
  EXPECT_EQ(*pairs, expected);
  EXPECT_EQ(Keys(""), "");
}

// Expected orders: Java 17.
TEST_F(HstoreTextTest, OrderIsThatOfAHashMap) {
  EXPECT_EQ(Keys(R"("b"=>"2", "a"=>"1", "x y"=>"")"), "x y a b");
  EXPECT_EQ(Keys(R"("k2"=>"1", "a,b"=>"2", "k10"=>"3", "mid"=>"4", "zeta"=>"5", "alpha"=>"6")"),
            "zeta a,b k2 alpha mid k10");
}

TEST_F(HstoreTextTest, CollidingKeysKeepTheirOrderUntilTheMapUsesTrees) {
  EXPECT_EQ(Keys(Collisions(3)), "AaAaAaAa BBAaAaAa AaBBAaAa");
  EXPECT_NE(Keys(Collisions(8)), "-");
  // The table has 64 buckets when the eleventh of one chain is added.
  EXPECT_NE(Keys(Collisions(10)), "-");
  EXPECT_EQ(Keys(Collisions(12)), "-");
}

TEST_F(HstoreTextTest, OtherTextIsRejected) {
  for (const char* text : {"a", "\"a\"", "\"a\"=>", "\"a\"=>b", "\"a\"=>\"b", "\"a\"=>\"b\\",
                           "\"a\"=>\"b\",\"c\"=>\"d\"", "\"a\"=>\"b\", "}) {
    EXPECT_EQ(Keys(text), "-") << text;
  }
}

}  // namespace
}  // namespace walrelay
