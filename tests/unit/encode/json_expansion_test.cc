#include "encode/json_expansion.h"

#include <gtest/gtest.h>

#include <string>

#include "encode/connect_json.h"
#include "fakes/status_matchers.h"
#include "walrelay/config.h"

namespace walrelay {
namespace {

class JsonExpansionTest : public ::testing::Test {
 protected:
  absl::StatusOr<Expansion> Expanded(std::string_view text, RootOf root_of = RootOf::kDocument) {
    const auto root = document_.Parse(text);
    EXPECT_THAT(root, IsOk());
    return Expand("payload", **root, format_, limits_, root_of);
  }
  // The expanded value as JSON; "" if the text is kept.
  std::string Json(std::string_view text, RootOf root_of = RootOf::kDocument) {
    const auto expansion = Expanded(text, root_of);
    EXPECT_THAT(expansion, IsOk());
    std::string out;
    if (expansion.ok() && expansion->kind == Expansion::Kind::kExpanded) {
      AppendConnectJson(*expansion->schema, expansion->datum, out);
    }
    return out;
  }
  Expansion::Kind KindOf(std::string_view text) {
    const auto expansion = Expanded(text);
    return expansion.ok() ? expansion->kind : Expansion::Kind::kUnchanged;
  }

  FormatConfig format_;
  RowLimits limits_ = RowLimits::For(1'000'000);

 private:
  JsonDocument document_{10'000};
};

TEST_F(JsonExpansionTest, ObjectBecomesAStruct) {
  EXPECT_EQ(Json(R"({"a": 1, "b": {"c": ["x", null]}, "d": 1.50})"),
            R"({"a":1,"b":{"c":["x",null]},"d":1.5})");
}

TEST_F(JsonExpansionTest, ObjectsOfAnArrayHaveAllMembers) {
  EXPECT_EQ(Json(R"({"a": [{"x": 1}, {"y": 2}]})"), R"({"a":[{"x":1,"y":null},{"x":null,"y":2}]})");
}

TEST_F(JsonExpansionTest, ArrayIsExpandedOnlyAsAMember) {
  EXPECT_EQ(KindOf("[1, 2]"), Expansion::Kind::kMismatch);
  EXPECT_EQ(Json("[1, 2]", RootOf::kMember), "[1,2]");
}

TEST_F(JsonExpansionTest, TextWithoutASchemaIsKept) {
  EXPECT_EQ(KindOf("[]"), Expansion::Kind::kSchemaless);
  EXPECT_EQ(KindOf(R"([1, "a"])"), Expansion::Kind::kUnchanged);
  EXPECT_EQ(Expanded(R"([1, "a"])")->schema, nullptr);
}

TEST_F(JsonExpansionTest, ValueThatDoesNotFitItsSchemaIsKept) {
  EXPECT_EQ(KindOf(R"({"a": [{"x": 1}, {"x": "text"}]})"), Expansion::Kind::kMismatch);
  EXPECT_EQ(KindOf(R"({"a": 9223372036854775808})"), Expansion::Kind::kMismatch);
}

TEST_F(JsonExpansionTest, LostMembersAreAnError) {
  EXPECT_THAT(Expanded(R"({"a": [[{"x": 1}, {"y": 2}], [{"z": 3}]]})"),
              HasError(ErrorCode::kValueInvalid, "\"z\""));
}

TEST_F(JsonExpansionTest, LimitsAreErrors) {
  limits_.schema_bytes = 20;
  EXPECT_THAT(Expanded(R"({"abcdefghijkl": {"abcdefghijkl": 1}})"),
              HasError(ErrorCode::kRecordTooLarge, "more than 20 bytes"));
  limits_ = RowLimits::For(1'000'000);
  limits_.json_values = 3;
  EXPECT_THAT(Expanded(R"({"a": [1, 2, 3]})"),
              HasError(ErrorCode::kRecordTooLarge, "more than 3 values"));
}

}  // namespace
}  // namespace walrelay
