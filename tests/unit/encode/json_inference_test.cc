#include "encode/json_inference.h"

#include <gtest/gtest.h>

#include <string>

#include "encode/connect_json.h"
#include "fakes/status_matchers.h"
#include "walrelay/config.h"

namespace walrelay {
namespace {

class JsonInferenceTest : public ::testing::Test {
 protected:
  // The schema of `text` with the types alone, or "failed", "too large", "none".
  std::string SchemaOf(std::string_view text, size_t most_bytes = 10'000) {
    const auto root = document_.Parse(text);
    EXPECT_THAT(root, IsOk());
    JsonInference inference(format_, most_bytes);
    const std::string path = "p";
    const SchemaPtr schema = inference.Of(&path, **root);
    if (schema == nullptr) {
      return inference.too_large() ? "too large" : inference.failed() ? "failed" : "none";
    }
    return Shown(*schema);
  }

  FormatConfig format_;

 private:
  static std::string Shown(const Schema& schema) {
    if (schema.type == SchemaType::kArray) {
      return "[" + Shown(*schema.items) + "]";
    }
    if (schema.type == SchemaType::kStruct) {
      std::string out = schema.name + (schema.optional ? "{" : "!{");
      for (const SchemaField& field : schema.fields) {
        out += (out.back() == '{' ? "" : " ") + field.name + ":" + Shown(*field.schema);
      }
      return out + "}";
    }
    std::string text;
    AppendConnectSchema(schema, text);
    return text.substr(9, text.find('"', 9) - 9);
  }

  JsonDocument document_{1'000};
};

TEST_F(JsonInferenceTest, TypesFollowNotationAndSize) {
  EXPECT_EQ(SchemaOf(R"({"a": "x", "b": true, "c": 1, "d": 2147483648, "e": 1.0, "f": 1e3})"),
            "p{a:string b:boolean c:int32 d:int64 e:double f:double}");
  EXPECT_EQ(NumberType("-2147483648"), SchemaType::kInt32);
  EXPECT_EQ(NumberType("-2147483649"), SchemaType::kInt64);
  EXPECT_EQ(NumberType("9223372036854775808"), SchemaType::kFloat64);
  EXPECT_EQ(IntegerOf("12x"), std::nullopt);
}

TEST_F(JsonInferenceTest, StructsAreNamedByTheirPath) {
  EXPECT_EQ(SchemaOf(R"({"a": {"b": {"c": 1}}})"), "p{a:p.a{b:p.a.b{c:int32}}}");
}

TEST_F(JsonInferenceTest, NullsAndEmptyArraysAreOmittedUnlessConfigured) {
  EXPECT_EQ(SchemaOf(R"({"a": null, "b": [], "c": 1})"), "p{c:int32}");
  format_.json_nulls = NullMembers::kOptionalBytes;
  format_.json_empty_arrays = EmptyArrays::kOptionalString;
  EXPECT_EQ(SchemaOf(R"({"a": null, "b": [], "c": 1})"), "p{a:bytes b:[string] c:int32}");
}

TEST_F(JsonInferenceTest, ElementsOfAnArrayAreOfOneType) {
  EXPECT_EQ(SchemaOf("[1, null, 2]"), "[int32]");
  EXPECT_EQ(SchemaOf("[1, 2147483648]"), "failed");
  EXPECT_EQ(SchemaOf(R"([1, "a"])"), "failed");
  EXPECT_EQ(SchemaOf("[]"), "none");
}

TEST_F(JsonInferenceTest, ObjectsOfAnArrayAreMerged) {
  EXPECT_EQ(SchemaOf(R"([{"a": 1}, {"a": 2}])"), "[p{a:int32}]");
  EXPECT_EQ(SchemaOf(R"([{"a": 1}, {"b": "x", "a": 2}])"), "[p!{a:int32 b:string}]");
}

TEST_F(JsonInferenceTest, MemberWithoutANameFails) {
  EXPECT_EQ(SchemaOf(R"({"": 1})"), "failed");
  EXPECT_EQ(SchemaOf(R"({"": null})"), "p{}");
}

TEST_F(JsonInferenceTest, SizeOfTheNamesIsLimited) {
  const std::string text = R"({"abcdefgh": {"abcdefgh": {"abcdefgh": 1}}})";
  EXPECT_NE(SchemaOf(text), "too large");
  EXPECT_EQ(SchemaOf(text, 40), "too large");
}

}  // namespace
}  // namespace walrelay
