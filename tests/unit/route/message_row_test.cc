#include "route/message_row.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fakes/status_matchers.h"
#include "pgoutput/type_oids.h"
#include "walrelay/config.h"

namespace walrelay {
namespace {

using ::testing::ElementsAre;

class MessageRowTest : public ::testing::Test {
 protected:
  // Each column as "name:type=text".
  std::vector<std::string> Columns(std::string_view content) {
    EXPECT_THAT(row_.Read("outbox", content), IsOk()) << content;
    std::vector<std::string> out;
    for (size_t i = 0; i < row_.row().size(); ++i) {
      // A copy: relation() returns a value, and GCC 14 takes a reference for a dangling one.
      const pgoutput::Column column = row_.relation().columns[i];
      const pgoutput::TupleValue& value = row_.row()[i];
      out.push_back(std::string(column.name) + ":" + std::to_string(column.type_oid) + "=" +
                    (value.is_null() ? "NULL" : std::string(value.bytes)));
    }
    return out;
  }
  void ExpectRefused(std::string_view content, const std::string& part) {
    EXPECT_THAT(row_.Read("outbox", content), HasError(ErrorCode::kValueInvalid, part)) << content;
    ASSERT_EQ(row_.row().size(), 1U);
    EXPECT_EQ(row_.relation().columns[0].name, "content");
    EXPECT_EQ(row_.row()[0].bytes, content);
  }

  MessageRow row_{NullMembers::kOptionalBytes, RowLimits::For(1'000'000)};
};

TEST_F(MessageRowTest, MembersBecomeColumnsOfMatchingTypes) {
  EXPECT_THAT(
      Columns(R"({"s": "a\"b", "t": true, "i": -7, "l": 3000000000, "f": 1.50, "n": null})"),
      ElementsAre("s:25=a\"b", "t:16=t", "i:23=-7", "l:20=3000000000", "f:701=1.50", "n:17=NULL"));
}

TEST_F(MessageRowTest, ObjectsAndArraysKeepTheirText) {
  EXPECT_THAT(Columns(R"({"o":{ "x" : [1.0, "}"] }, "a" :[ ] , "z":1} )"),
              ElementsAre(R"(o:2249={ "x" : [1.0, "}"] })", "a:2249=[ ]", "z:23=1"));
}

TEST_F(MessageRowTest, NullMembersCanBeIgnored) {
  MessageRow row(NullMembers::kIgnore, RowLimits::For(1'000'000));
  ASSERT_THAT(row.Read("outbox", R"({"a": null, "b": 1})"), IsOk());
  ASSERT_EQ(row.relation().columns.size(), 1U);
  EXPECT_EQ(row.relation().columns[0].name, "b");
}

TEST_F(MessageRowTest, InvalidContentIsRejectedAndKept) {
  for (const char* content :
       {"", " {}", "hello", "[1]", "{\"a\": }", "{\"a\": 1", "null", "\"{}\""}) {
    ExpectRefused(content, "not a JSON object");
  }
  ExpectRefused(R"({"a": 92233720368547758080})", "more than 64 bits");
  ExpectRefused(R"({"a": "\ud800"})", "lone surrogate");
  std::string many = "{";
  for (int i = 0; i < 2000; ++i) {
    many += "\"m" + std::to_string(i) + "\": 1, ";
  }
  ExpectRefused(many + "\"z\": 1}", "2001 members");
}

// Content that cannot fit into a record is not parsed: invalid JSON in it is not detected.
TEST_F(MessageRowTest, ContentBeyondTheLimitsIsTooLarge) {
  MessageRow row(NullMembers::kIgnore, RowLimits::For(1'000));
  const std::string large = "{\"a\":" + std::string(4'000, 'x');
  EXPECT_THAT(row.Read("outbox", large), HasError(ErrorCode::kRecordTooLarge, "4005 bytes"));
  ASSERT_EQ(row.row().size(), 1U);
  EXPECT_EQ(row.row()[0].bytes, large);
  std::string dense = "{\"a\":[0";
  for (int i = 0; i < 600; ++i) {
    dense += ",0";
  }
  EXPECT_THAT(row.Read("outbox", dense + "]}"),
              HasError(ErrorCode::kRecordTooLarge, "more than 501 values"));
}

TEST_F(MessageRowTest, ColumnsAreNewWhenNamesTypesOrPrefixDiffer) {
  const auto is_new = [&](std::string_view prefix, std::string_view content) {
    EXPECT_THAT(row_.Read(prefix, content), IsOk());
    return row_.has_new_columns();
  };
  EXPECT_TRUE(is_new("p", "{}"));
  EXPECT_FALSE(is_new("p", "{}"));
  EXPECT_TRUE(is_new("p", R"({"a": 1})"));
  EXPECT_FALSE(is_new("p", R"({"a": 2})"));
  EXPECT_TRUE(is_new("p", R"({"a": "2"})"));
  EXPECT_TRUE(is_new("q", R"({"a": "2"})"));
  row_.Forget();
  EXPECT_TRUE(is_new("q", R"({"a": "2"})"));
}

}  // namespace
}  // namespace walrelay
