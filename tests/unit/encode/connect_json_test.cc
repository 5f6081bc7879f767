#include "encode/connect_json.h"

#include <gtest/gtest.h>

#include <limits>
#include <memory>
#include <string>

namespace walrelay {
namespace {

using std::string_view_literals::operator""sv;

SchemaPtr Of(SchemaType type) {
  return std::make_shared<const Schema>(Schema{.type = type, .optional = true});
}
std::string Json(const Schema& schema, const Datum& datum) {
  std::string out;
  AppendConnectJson(schema, datum, out);
  return out;
}
std::string Json(const Datum& datum) {
  return Json(Schema(), datum);
}
std::string SchemaJson(const Schema& schema) {
  std::string out;
  AppendConnectSchema(schema, out);
  return out;
}
std::string Quoted(std::string_view text) {
  std::string out;
  AppendJacksonString(text, out);
  return out;
}

TEST(ConnectJsonTest, ScalarsAreWrittenByKind) {
  EXPECT_EQ(Json({}), "null");
  EXPECT_EQ(Json({false}), "false");
  EXPECT_EQ(Json({int64_t{-7}}), "-7");
  EXPECT_EQ(Json({1e10}), "1.0E10");
  EXPECT_EQ(Json({0.1f}), "0.1");
  EXPECT_EQ(Json({"x"sv}), R"("x")");
  EXPECT_EQ(Json({Bytes{"\xFF\x10"sv}}), R"("/xA=")");
  EXPECT_EQ(Json({Decimal{"1.50"}}), R"("AJY=")");
}

TEST(ConnectJsonTest, NumbersThatJsonLacksAreQuoted) {
  EXPECT_EQ(Json({std::numeric_limits<double>::quiet_NaN()}), R"("NaN")");
  EXPECT_EQ(Json({-std::numeric_limits<float>::infinity()}), R"("-Infinity")");
}

TEST(ConnectJsonTest, MembersFollowTheSchemaAndDefaultsReplaceNull) {
  Schema number{.type = SchemaType::kInt32, .optional = true};
  number.default_value = std::make_shared<const Datum>(Datum{int64_t{3}});
  const Schema schema{
      .type = SchemaType::kStruct,
      .fields = {{"a", Of(SchemaType::kString)}, {"b", std::make_shared<const Schema>(number)}}};
  EXPECT_EQ(Json(schema, {DatumList{{}, {}}}), R"({"a":null,"b":3})");
}

TEST(ConnectJsonTest, SchemaHasItsAttributesInTheOrderOfTheConverter) {
  Schema schema{
      .type = SchemaType::kInt32, .optional = true, .name = "n", .version = 2, .doc = "d"};
  schema.parameters = {{"p", "1"}, {"q", "2"}};
  schema.default_value = std::make_shared<const Datum>(Datum{int64_t{3}});
  EXPECT_EQ(SchemaJson(schema),
            R"({"type":"int32","optional":true,"name":"n","version":2,"doc":"d",)"
            R"("parameters":{"p":"1","q":"2"},"default":3})");
}

TEST(ConnectJsonTest, SchemasAreNested) {
  const Schema list{.type = SchemaType::kArray, .items = Of(SchemaType::kBoolean)};
  const Schema schema{
      .type = SchemaType::kStruct,
      .fields = {{"a", std::make_shared<const Schema>(list)}, {"b", Of(SchemaType::kFloat64)}}};
  EXPECT_EQ(SchemaJson(schema),
            R"({"type":"struct","fields":[{"type":"array","items":{"type":"boolean",)"
            R"("optional":true},"optional":false,"field":"a"},{"type":"double","optional":true,)"
            R"("field":"b"}],"optional":false})");
}

TEST(ConnectJsonTest, TextIsEscapedAsByJackson) {
  EXPECT_EQ(Quoted("a\"\\/b"), R"("a\"\\/b")");
  EXPECT_EQ(Quoted("\b\t\n\f\r\x01\x1f"), R"("\b\t\n\f\r\u0001\u001F")");
  EXPECT_EQ(Quoted("\x7f\u00e9\u20ac"), "\"\x7f\u00e9\u20ac\"");
  EXPECT_EQ(Quoted("\U0001D11E"), R"("\uD834\uDD1E")");
  EXPECT_EQ(Quoted("\xED\xA0\xB4"), R"("\uD834")");
}

TEST(ConnectJsonTest, TruncatedSequencesAreCopied) {
  for (const std::string_view text : {"\xF0"sv, "\xF0\x9D\x84"sv, "\xED"sv, "\xED\xA0"sv}) {
    EXPECT_EQ(Quoted(text), "\"" + std::string(text) + "\"");
  }
}

}  // namespace
}  // namespace walrelay
