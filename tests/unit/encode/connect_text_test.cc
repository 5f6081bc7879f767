#include "encode/connect_text.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "fakes/status_matchers.h"

namespace walrelay {
namespace {

using std::string_view_literals::operator""sv;

SchemaPtr TypeOf(SchemaType type) {
  return std::make_shared<const Schema>(Schema{.type = type, .optional = true});
}
const Schema kText{.type = SchemaType::kString};
const Schema kTexts{.type = SchemaType::kArray, .items = TypeOf(SchemaType::kString)};
const Schema kStruct{
    .type = SchemaType::kStruct,
    .fields = {{"a\"b", TypeOf(SchemaType::kInt32)}, {"c", TypeOf(SchemaType::kBytes)}}};

std::string JavaText(const Schema& schema, const Datum& datum) {
  std::string out;
  EXPECT_THAT(AppendJavaText(schema, datum, out), IsOk());
  return out;
}
std::string HeaderText(const Schema& schema, const Datum& datum) {
  std::string out;
  AppendHeaderText(schema, datum, out);
  return out;
}

TEST(ConnectTextTest, ScalarsAreTheSameInBoth) {
  const std::pair<Datum, std::string> kScalars[] = {
      {{true}, "true"}, {{int64_t{-7}}, "-7"}, {{1.0}, "1.0"},
      {{1.5f}, "1.5"},  {{"x\"y"sv}, "x\"y"},  {{Decimal{"-12.30"}}, "-12.30"}};
  for (const auto& [datum, text] : kScalars) {
    EXPECT_EQ(JavaText(kText, datum), text);
    EXPECT_EQ(HeaderText(kText, datum), text);
  }
}

TEST(ConnectTextTest, LoneSurrogateBecomesAQuestionMark) {
  EXPECT_EQ(JavaText(kText, {"a\xED\xA0\x80"
                             "b"sv}),
            "a?b");
  EXPECT_EQ(HeaderText(kText, {"\xED\x9F\xBF"sv}), "\xED\x9F\xBF");  // U+D7FF is none
}

TEST(ConnectTextTest, TextsOfAnArrayAreQuotedOnlyInHeaders) {
  const Datum list{DatumList{{"x\\"sv}, {}, {"z"sv}}};
  EXPECT_EQ(JavaText(kTexts, list), "[x\\, null, z]");
  EXPECT_EQ(HeaderText(kTexts, list), R"(["x\\",null,"z"])");
}

TEST(ConnectTextTest, BytesAndStructsAreTextOnlyInHeaders) {
  const Datum bytes{Bytes{"\xFF\x10"sv}};
  const Datum members{DatumList{{int64_t{1}}, bytes}};
  EXPECT_EQ(HeaderText(*TypeOf(SchemaType::kBytes), bytes), "/xA=");
  EXPECT_EQ(HeaderText(kStruct, members), R"({"a\"b":1,"c":"/xA="})");
  std::string out;
  EXPECT_THAT(AppendJavaText(*TypeOf(SchemaType::kBytes), bytes, out),
              HasError(ErrorCode::kValueInvalid));
  EXPECT_THAT(AppendJavaText(kStruct, members, out), HasError(ErrorCode::kValueInvalid));
}

TEST(ConnectTextTest, DefaultReplacesNullInsideAHeader) {
  Schema with_default{.type = SchemaType::kString, .optional = true};
  with_default.default_value = std::make_shared<const Datum>(Datum{"d"sv});
  const Schema list{.type = SchemaType::kArray,
                    .items = std::make_shared<const Schema>(with_default)};
  EXPECT_EQ(HeaderText(list, {DatumList{{}}}), R"(["d"])");
}

}  // namespace
}  // namespace walrelay
