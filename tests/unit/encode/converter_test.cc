#include "encode/converter.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "fakes/status_matchers.h"
#include "walrelay/config.h"

namespace walrelay {
namespace {

using std::string_view_literals::operator""sv;

const Schema kTextSchema{.type = SchemaType::kString};
const Schema kBytes{.type = SchemaType::kBytes};

// "NULL" for a record without this part, or the error code.
std::string Converted(PartFormat format, const Schema* schema, const Datum& datum) {
  std::string out = "overwritten";
  const auto bytes = Convert(format, schema, datum, out);
  return !bytes.ok() ? ToString(CodeOf(bytes.status())) : std::string(bytes->value_or("NULL"));
}

TEST(ConverterTest, StringIsJavasText) {
  EXPECT_EQ(Converted({.format = Format::kString}, &kTextSchema, {"x"sv}), "x");
  EXPECT_EQ(Converted({.format = Format::kString}, nullptr, {"x"sv}), "x");
  EXPECT_EQ(Converted({.format = Format::kString}, &kTextSchema, {}), "NULL");
  EXPECT_EQ(Converted({.format = Format::kString}, &kBytes, {Bytes{"x"sv}}), "WR-3007");
}

TEST(ConverterTest, JsonOfNullIsText) {
  EXPECT_EQ(Converted({.format = Format::kJson}, &kTextSchema, {"x"sv}), R"("x")");
  EXPECT_EQ(Converted({.format = Format::kJson}, &kTextSchema, {}), "null");
  EXPECT_EQ(Converted({.format = Format::kJson}, nullptr, {int64_t{7}}), "7");
}

TEST(ConverterTest, SchemaPrecedesThePayload) {
  EXPECT_EQ(Converted({.format = Format::kJsonSchema}, &kTextSchema, {"x"sv}),
            R"({"schema":{"type":"string","optional":false},"payload":"x"})");
  EXPECT_EQ(Converted({.format = Format::kJsonSchema}, nullptr, {"x"sv}),
            R"({"schema":null,"payload":"x"})");
}

TEST(ConverterTest, BytesAreUnchangedAndOtherValuesNeedADelegate) {
  EXPECT_EQ(Converted({.format = Format::kBytes}, &kBytes, {Bytes{"\xFF"sv}}), "\xFF");
  EXPECT_EQ(Converted({.format = Format::kBytes}, &kBytes, {}), "NULL");
  EXPECT_EQ(Converted({.format = Format::kBytes}, &kTextSchema, {"x"sv}), "WR-3007");
  EXPECT_EQ(Converted({.format = Format::kBytes}, &kBytes, {Decimal{"1"}}), "WR-3007");
  EXPECT_EQ(
      Converted({.format = Format::kBytes, .delegate = Delegate::kJson}, &kTextSchema, {"x"sv}),
      R"("x")");
  EXPECT_EQ(
      Converted({.format = Format::kBytes, .delegate = Delegate::kString}, &kTextSchema, {"x"sv}),
      "x");
}

TEST(ConverterTest, DefaultReplacesNull) {
  Schema schema{.type = SchemaType::kString, .optional = true};
  schema.default_value = std::make_shared<const Datum>(Datum{"d"sv});
  EXPECT_EQ(Converted({.format = Format::kString}, &schema, {}), "d");
  EXPECT_EQ(Converted({.format = Format::kJson}, &schema, {}), R"("d")");
}

}  // namespace
}  // namespace walrelay
