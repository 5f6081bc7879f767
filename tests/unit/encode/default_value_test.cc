#include "encode/default_value.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "encode/connect_column_type.h"
#include "encode/connect_json.h"
#include "fakes/status_matchers.h"
#include "pgoutput/type_oids.h"
#include "walrelay/config.h"

namespace walrelay {
namespace {

constexpr int32_t NumericModifier(int precision, int scale) {
  return (precision << 16 | scale) + 4;
}

// The defaults in the schemas of columns.
class DefaultValueTest : public ::testing::Test {
 protected:
  // The default in the schema; "-" if there is none.
  std::string DefaultOf(uint32_t type_oid, std::string expression, int32_t modifier = -1) const {
    return DefaultOf({.type_oid = type_oid,
                      .type_modifier = modifier,
                      .default_expression = std::move(expression)});
  }
  std::string DefaultOf(const ColumnTraits& column) const {
    const auto shape = ShapeOf(column, modes_);
    EXPECT_THAT(shape, IsOk());
    std::string schema;
    AppendConnectSchema(*shape->schema, schema);
    const size_t at = schema.find("\"default\":");
    return at == std::string::npos ? "-" : schema.substr(at + 10, schema.size() - at - 11);
  }
  std::string EnumDefaultOf(std::string expression) const {
    return DefaultOf({.type_oid = pgoutput::kFirstUserOid,
                      .default_expression = std::move(expression),
                      .enum_labels = {"sad", "o'k"}});
  }

  TypeModes modes_;
};

TEST_F(DefaultValueTest, LiteralDefaultsAreKept) {
  EXPECT_EQ(DefaultOf(pgoutput::kVarcharOid, "'dflt'::character varying"), R"("dflt")");
  EXPECT_EQ(DefaultOf(pgoutput::kJsonbOid, "'{}'::jsonb"), R"("{}")");
  EXPECT_EQ(DefaultOf(pgoutput::kInt4Oid, "3"), "3");
  EXPECT_EQ(DefaultOf(pgoutput::kInt4Oid, "'-1'::integer"), "-1");
  EXPECT_EQ(DefaultOf(pgoutput::kBoolOid, "true"), "true");
  EXPECT_EQ(DefaultOf(pgoutput::kNumericOid, "1.5", NumericModifier(10, 2)), R"("AJY=")");
  EXPECT_EQ(DefaultOf(pgoutput::kTimestamptzOid, "'2020-01-01 02:00:00+02'::timestamptz"),
            R"("2020-01-01T00:00:00.000000Z")");
}

TEST_F(DefaultValueTest, TwoQuotesInALiteralAreOne) {
  EXPECT_EQ(DefaultOf(pgoutput::kTextOid, "'it''s'::text"), R"("it's")");
  EXPECT_EQ(DefaultOf(pgoutput::kTextOid, "''''::text"), R"("'")");
  EXPECT_EQ(DefaultOf(pgoutput::kTextOid, "'a''''b'::text"), R"("a''b")");
  EXPECT_EQ(DefaultOf(pgoutput::kTextOid, "('x''y'::character varying)::text"), R"("x'y")");
  EXPECT_EQ(DefaultOf(pgoutput::kTextOid, "('a'::text || 'b'::text)"), R"("a")");
  EXPECT_EQ(DefaultOf(pgoutput::kJsonbOid, R"('{"a": "it''s"}'::jsonb)"), R"("{\"a\": \"it's\"}")");
  EXPECT_EQ(DefaultOf(pgoutput::kTextOid, "'a\nb'::text"), R"("a\nb")");
}

TEST_F(DefaultValueTest, Debezium36CutsALiteralAtItsFirstQuote) {
  modes_.version = DebeziumVersion::k3_6;
  EXPECT_EQ(DefaultOf(pgoutput::kTextOid, "'it''s'::text"), R"("it")");
  EXPECT_EQ(DefaultOf(pgoutput::kTextOid, "''''::text"), R"("")");
  EXPECT_EQ(DefaultOf(pgoutput::kTextOid, "'a\nb'::text"), "-");
}

TEST_F(DefaultValueTest, EnumsLoseOnlyTheirOuterQuotes) {
  for (const auto version : {DebeziumVersion::k3_7, DebeziumVersion::k3_6}) {
    modes_.version = version;
    EXPECT_EQ(EnumDefaultOf("'sad'::mood"), R"("sad")");
    EXPECT_EQ(EnumDefaultOf("'o''k'::s.mood"), R"("o''k")");
    EXPECT_EQ(EnumDefaultOf("('sad'::text)::mood"), "-");
    EXPECT_EQ(EnumDefaultOf("some_mood()"), "-");
  }
}

TEST_F(DefaultValueTest, AnExpressionIsTheDefaultOfAText) {
  EXPECT_EQ(DefaultOf(pgoutput::kTextOid, "CURRENT_USER"), R"("CURRENT_USER")");
  EXPECT_EQ(DefaultOf(pgoutput::kVarcharOid, "((1 + 2))::text"), R"("((1 + 2))::text")");
  EXPECT_EQ(DefaultOf(pgoutput::kTextOid, "NULLIF('a'::text, 'b'::text)"), R"("")");
  EXPECT_EQ(DefaultOf(pgoutput::kBoolOid, "(NOT true)"), "false");
  EXPECT_EQ(DefaultOf(pgoutput::kUuidOid, "('x'::text)::uuid"), "-");
}

TEST_F(DefaultValueTest, InfiniteDefaultsAreNotInfiniteValues) {
  EXPECT_EQ(DefaultOf(pgoutput::kDateOid, "'infinity'::date"), "169560311");
  EXPECT_EQ(DefaultOf(pgoutput::kDateOid, "'-infinity'::date"), "-170999002");
  EXPECT_EQ(DefaultOf(pgoutput::kTimestampOid, "'infinity'::timestamp"), "-9223372036853775810");
  EXPECT_EQ(DefaultOf(pgoutput::kTimestampOid, "'-infinity'::timestamp"), "-9223372036854775808");
  EXPECT_EQ(DefaultOf(pgoutput::kTimestampOid, "'infinity'::timestamp", 3), "-");
  EXPECT_EQ(DefaultOf(pgoutput::kTimestamptzOid, "'infinity'::timestamptz"), "-");
  modes_.time = TimeMode::kIsoString;
  EXPECT_EQ(DefaultOf(pgoutput::kDateOid, "'infinity'::date"), R"("+999999999-12-31Z")");
  EXPECT_EQ(DefaultOf(pgoutput::kTimestampOid, "'-infinity'::timestamp"),
            R"("-999999999-01-01T00:00:00Z")");
  modes_.time = TimeMode::kNanoseconds;
  EXPECT_EQ(DefaultOf(pgoutput::kTimestampOid, "'infinity'::timestamp"), "-");
}

TEST_F(DefaultValueTest, EndOfTheDayIsItsLastNanosecond) {
  EXPECT_EQ(DefaultOf(pgoutput::kTimeOid, "'24:00:00'::time"), "86399999999");
  EXPECT_EQ(DefaultOf(pgoutput::kTimeOid, "'24:00:00'::time", 3), "86399999");
  modes_.time = TimeMode::kNanoseconds;
  EXPECT_EQ(DefaultOf(pgoutput::kTimeOid, "'24:00:00'::time"), "86399999999999");
  modes_.time = TimeMode::kIsoString;
  EXPECT_EQ(DefaultOf(pgoutput::kTimeOid, "'24:00:00'::time"), R"("23:59:59.999999999Z")");
}

TEST_F(DefaultValueTest, FunctionDefaultsBecomeAPlaceholder) {
  EXPECT_EQ(DefaultOf(pgoutput::kUuidOid, "gen_random_uuid()"),
            R"("00000000-0000-0000-0000-000000000000")");
  EXPECT_EQ(DefaultOf(pgoutput::kTimestamptzOid, "now()"), R"("1970-01-01T00:00:00.000000Z")");
  EXPECT_EQ(DefaultOf(pgoutput::kInt8Oid, "nextval('s'::regclass)"), "0");
  EXPECT_EQ(DefaultOf(pgoutput::kTextOid, "md5('x'::text)"), R"("")");
  EXPECT_EQ(DefaultOf(pgoutput::kJsonbOid, "jsonb_build_object()"), R"("{}")");
}

TEST_F(DefaultValueTest, OtherExpressionsHaveNoDefault) {
  EXPECT_EQ(DefaultOf(pgoutput::kInt4Oid, "(1 + 1)"), "-");
  EXPECT_EQ(DefaultOf(pgoutput::kByteaOid, "'\\x00'::bytea"), "-");
  EXPECT_EQ(DefaultOf(1009, "'{}'::text[]"), "-");
  EXPECT_EQ(DefaultOf(pgoutput::kNumericOid, "1"), "-");
  EXPECT_EQ(DefaultOf(pgoutput::kTextOid, "NULL::text"), "-");
  EXPECT_EQ(DefaultOf(pgoutput::kTextOid, ""), "-");
  EXPECT_EQ(DefaultOf(pgoutput::kTimetzOid, "'01:02:03+02'::time with time zone"), "-");
}

TEST_F(DefaultValueTest, DefaultsHaveTheFormOfValues) {
  EXPECT_EQ(DefaultOf(pgoutput::kIntervalOid, "'1 mon 02:00:00'::interval"), "2637000000000");
  EXPECT_EQ(DefaultOf(pgoutput::kIntervalOid, "make_interval(days => 1)"), "0");
  EXPECT_EQ(DefaultOf(pgoutput::kBitOid, "B'101'::\"bit\"", 3), R"("BQ==")");
  EXPECT_EQ(DefaultOf(pgoutput::kBitOid, "B'1'::\"bit\"", 1), "true");
  EXPECT_EQ(DefaultOf(pgoutput::kVarbitOid, "('101'::\"bit\")::bit varying"), R"("BQ==")");
  EXPECT_EQ(DefaultOf(pgoutput::kNumericOid, "round(1.2)", NumericModifier(5, 0)), R"("AA==")");
  EXPECT_EQ(DefaultOf(pgoutput::kNumericOid, "1.50", NumericModifier(5, 1)), R"("Dw==")");
}

}  // namespace
}  // namespace walrelay
