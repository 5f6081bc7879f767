#include "encode/column_datum.h"

#include <gtest/gtest.h>

#include <string>

#include "encode/connect_json.h"
#include "encode/connect_text.h"
#include "fakes/status_matchers.h"
#include "pgoutput/type_oids.h"
#include "walrelay/config.h"

namespace walrelay {
namespace {

using pgoutput::TupleValue;

constexpr int32_t Numeric(int precision, int scale) {
  return (precision << 16 | scale) + 4;
}

class ColumnDatumTest : public ::testing::Test {
 protected:
  // The value as header text, "NULL", or the error code.
  std::string Shown(ColumnTraits column, std::string_view text) {
    return Shown(column, TupleValue{TupleValue::Kind::kText, text});
  }
  std::string Shown(const ColumnTraits& column, const TupleValue& value) {
    const auto shape = ShapeOf(column, modes_);
    if (!shape.ok()) {
      return ToString(CodeOf(shape.status()));
    }
    const auto datum = ColumnDatum(value, *shape, arena_);
    if (!datum.ok()) {
      return ToString(CodeOf(datum.status()));
    }
    if (datum->is_null()) {
      return "NULL";
    }
    std::string out;
    AppendHeaderText(*shape->schema, *datum, out);
    return out;
  }
  static std::string SchemaOf(const ColumnTraits& column) {
    std::string out;
    const auto shape = ShapeOf(column);
    if (shape.ok()) {
      AppendConnectSchema(*shape->schema, out);
    }
    return out;
  }

  Arena arena_;
  TypeModes modes_;
};

TEST_F(ColumnDatumTest, Booleans) {
  EXPECT_EQ(Shown({pgoutput::kBoolOid}, "t"), "true");
  EXPECT_EQ(Shown({pgoutput::kBoolOid}, "f"), "false");
  EXPECT_EQ(Shown({pgoutput::kBoolOid}, "x"), "WR-3007");
}

TEST_F(ColumnDatumTest, Numbers) {
  EXPECT_EQ(Shown({pgoutput::kInt2Oid}, "-3"), "-3");
  EXPECT_EQ(Shown({pgoutput::kInt8Oid}, "9007199254740993"), "9007199254740993");
  EXPECT_EQ(Shown({pgoutput::kInt8Oid}, "1x"), "WR-3007");
  EXPECT_EQ(Shown({pgoutput::kFloat8Oid}, "1e+21"), "1.0E21");
  EXPECT_EQ(Shown({pgoutput::kFloat8Oid}, "-0"), "-0.0");
  EXPECT_EQ(Shown({pgoutput::kFloat8Oid}, "NaN"), "NaN");
  EXPECT_EQ(Shown({pgoutput::kFloat4Oid}, "-Infinity"), "-Infinity");
}

TEST_F(ColumnDatumTest, DecimalsWithADeclaredScaleAreBytes) {
  EXPECT_EQ(Shown({pgoutput::kNumericOid, Numeric(10, 2)}, "12.30"), "12.30");
  EXPECT_EQ(SchemaOf({pgoutput::kNumericOid, Numeric(10, 2)}),
            R"({"type":"bytes","optional":true,"name":"org.apache.kafka.connect.data.Decimal",)"
            R"("version":1,"parameters":{"scale":"2","connect.decimal.precision":"10"}})");
}

TEST_F(ColumnDatumTest, DecimalsWithoutADeclaredScaleAreAStruct) {
  EXPECT_EQ(Shown({pgoutput::kNumericOid}, "12.30"), R"({"scale":1,"value":"ew=="})");
  EXPECT_EQ(Shown({pgoutput::kNumericOid}, "100"), R"({"scale":0,"value":"ZA=="})");
}

TEST_F(ColumnDatumTest, NotANumberIsNullInANullableColumn) {
  EXPECT_EQ(Shown({pgoutput::kNumericOid}, "NaN"), "NULL");
  EXPECT_EQ(Shown({.type_oid = pgoutput::kNumericOid, .nullable = false}, "NaN"), "WR-3007");
  EXPECT_EQ(Shown({pgoutput::kNumericOid, Numeric(4, 1)}, "Infinity"), "NULL");
}

TEST_F(ColumnDatumTest, DatesAreDays) {
  EXPECT_EQ(Shown({pgoutput::kDateOid}, "2019-03-24"), "17979");
  EXPECT_EQ(Shown({pgoutput::kDateOid}, "1969-12-31"), "-1");
  EXPECT_EQ(Shown({pgoutput::kDateOid}, "0001-12-31 BC"), "-719163");
  EXPECT_EQ(Shown({pgoutput::kDateOid}, "5874897-12-31"), "2145042905");
  EXPECT_EQ(Shown({pgoutput::kDateOid}, "infinity"), "2146033979");
  EXPECT_EQ(Shown({pgoutput::kDateOid}, "-infinity"), "-2147472691");
  constexpr uint32_t kDates = 1182;
  EXPECT_EQ(Shown({kDates}, "{infinity}"), "WR-3007");
}

TEST_F(ColumnDatumTest, TimesCountFromMidnight) {
  EXPECT_EQ(Shown({pgoutput::kTimeOid}, "00:00:01.5"), "1500000");
  EXPECT_EQ(Shown({pgoutput::kTimeOid}, "24:00:00"), "86400000000");
  EXPECT_EQ(Shown({pgoutput::kTimeOid, 3}, "00:00:01.5"), "1500");
  EXPECT_EQ(Shown({pgoutput::kTimetzOid}, "00:30:00.5+02"), "22:30:00.5Z");
  EXPECT_EQ(Shown({pgoutput::kTimetzOid}, "10:00:00+00"), "10:00:00Z");
  EXPECT_EQ(Shown({pgoutput::kTimetzOid}, "24:00:00+00"), "24:00:00Z");
}

TEST_F(ColumnDatumTest, TimestampUnitDependsOnThePrecision) {
  EXPECT_EQ(Shown({pgoutput::kTimestampOid}, "2019-03-24 20:52:59.123456"), "1553460779123456");
  EXPECT_EQ(Shown({pgoutput::kTimestampOid, 3}, "2019-03-24 20:52:59.123"), "1553460779123");
  EXPECT_EQ(Shown({pgoutput::kTimestampOid, 3}, "1969-12-31 23:59:59.999"), "-1");
  EXPECT_EQ(Shown({pgoutput::kTimestampOid, 4}, "1970-01-01 00:00:00.0001"), "100");
  EXPECT_EQ(Shown({pgoutput::kTimestampOid}, "infinity"), "9223372036854775807");
  EXPECT_EQ(Shown({pgoutput::kTimestampOid, 0}, "-infinity"), "-9223372036832400000");
  EXPECT_EQ(Shown({pgoutput::kTimestampOid}, "294276-12-31 23:59:59"), "WR-3007");
}

TEST_F(ColumnDatumTest, TimestampsWithATimeZoneAreTextInUtc) {
  EXPECT_EQ(Shown({pgoutput::kTimestamptzOid}, "2019-03-24 22:52:59+02"),
            "2019-03-24T20:52:59.000000Z");
  EXPECT_EQ(Shown({pgoutput::kTimestamptzOid, 3}, "2019-03-24 20:52:59.12+00"),
            "2019-03-24T20:52:59.120Z");
  EXPECT_EQ(Shown({pgoutput::kTimestamptzOid, 0}, "2019-03-24 20:52:59+00"),
            "2019-03-24T20:52:59Z");
  EXPECT_EQ(Shown({pgoutput::kTimestamptzOid}, "0044-03-15 12:00:00+00 BC"),
            "-0043-03-15T12:00:00.000000Z");
  EXPECT_EQ(Shown({pgoutput::kTimestamptzOid, 0}, "10000-01-01 00:00:00+00"),
            "+10000-01-01T00:00:00Z");
  EXPECT_EQ(Shown({pgoutput::kTimestamptzOid}, "-infinity"), "-infinity");
}

TEST_F(ColumnDatumTest, BytesAreBase64InBothFormats) {
  EXPECT_EQ(Shown({pgoutput::kByteaOid}, "\\x00ff10"), "AP8Q");
  EXPECT_EQ(Shown({pgoutput::kByteaOid},
                  TupleValue{TupleValue::Kind::kBinary, std::string_view("\0\xff\x10", 3)}),
            "AP8Q");
  EXPECT_EQ(Shown({pgoutput::kByteaOid}, "\\x0"), "WR-3007");
}

TEST_F(ColumnDatumTest, BinaryIntegersAreDecodedAndBinaryDatesRefused) {
  EXPECT_EQ(Shown({pgoutput::kInt4Oid},
                  TupleValue{TupleValue::Kind::kBinary, std::string_view("\0\0\1\0", 4)}),
            "256");
  EXPECT_EQ(Shown({pgoutput::kDateOid},
                  TupleValue{TupleValue::Kind::kBinary, std::string_view("\0\0\1\0", 4)}),
            "WR-3002");
}

TEST_F(ColumnDatumTest, Arrays) {
  constexpr uint32_t kTexts = 1009;
  constexpr uint32_t kInts = 1007;
  constexpr uint32_t kByteas = 1001;
  EXPECT_EQ(Shown({kTexts}, R"({x,"q\"t",NULL,"NULL",""})"), R"(["x","q\"t",null,"NULL",""])");
  EXPECT_EQ(Shown({kInts}, "{1,NULL,-3}"), "[1,null,-3]");
  EXPECT_EQ(Shown({kInts}, "{}"), "[]");
  EXPECT_EQ(Shown({kInts}, "[2:3]={7,8}"), "[7,8]");
  EXPECT_EQ(Shown({kByteas}, R"({"\\x00ff10"})"), R"(["AP8Q"])");
  for (const char* text : {"{{1,2},{3,4}}", "{1", "1}", "", "{1,}", "{,1}", "{1}2", "{\"1}"}) {
    EXPECT_EQ(Shown({kInts}, text), "WR-3007") << text;
  }
  EXPECT_EQ(SchemaOf({.type_oid = kTexts, .nullable = false}),
            R"({"type":"array","items":{"type":"string","optional":true},"optional":false})");
}

TEST_F(ColumnDatumTest, Debezium36ReadsWholeSecondsInArraysOfTimes) {
  constexpr uint32_t kTimetzs = 1270;
  constexpr std::string_view kText = "{12:34:56.789123+05:30,NULL}";
  EXPECT_EQ(Shown({kTimetzs}, kText), R"(["07:04:56.789123Z",null])");
  modes_.version = DebeziumVersion::k3_6;
  EXPECT_EQ(Shown({kTimetzs}, kText), R"(["07:04:56Z",null])");
}

TEST_F(ColumnDatumTest, EnumSchemaListsItsLabels) {
  const ColumnTraits mood{
      .type_oid = pgoutput::kFirstUserOid, .nullable = false, .enum_labels = {"sad", "ok"}};
  EXPECT_EQ(Shown(mood, "ok"), "ok");
  EXPECT_EQ(SchemaOf(mood), R"({"type":"string","optional":false,"name":"io.debezium.data.Enum",)"
                            R"("version":1,"parameters":{"allowed":"sad,ok"}})");
}

TEST_F(ColumnDatumTest, DecimalsAsText) {
  modes_.decimal = DecimalMode::kString;
  EXPECT_EQ(Shown({pgoutput::kNumericOid, Numeric(10, 3)}, "12.300"), "12.300");
  EXPECT_EQ(Shown({pgoutput::kNumericOid}, "-12.3400"), "-12.3400");
  EXPECT_EQ(Shown({pgoutput::kNumericOid}, "NaN"), "NAN");
  EXPECT_EQ(Shown({pgoutput::kNumericOid}, "-Infinity"), "NEGATIVE_INFINITY");
  EXPECT_EQ(Shown({pgoutput::kNumericOid}, "1e5"), "WR-3007");
  constexpr uint32_t kNumerics = 1231;
  EXPECT_EQ(Shown({kNumerics}, "{1.50,NULL}"), R"(["1.50",null])");
  EXPECT_EQ(Shown({kNumerics}, "{NaN}"), "WR-3007");
}

TEST_F(ColumnDatumTest, DecimalsAsDoubles) {
  modes_.decimal = DecimalMode::kDouble;
  EXPECT_EQ(Shown({pgoutput::kNumericOid, Numeric(12, 3)}, "999999999.999"), "9.99999999999E8");
  EXPECT_EQ(Shown({pgoutput::kNumericOid}, "0.000"), "0.0");
  EXPECT_EQ(Shown({pgoutput::kNumericOid}, "Infinity"), "Infinity");
  EXPECT_EQ(Shown({pgoutput::kNumericOid}, "-1" + std::string(400, '0')), "-Infinity");
  EXPECT_EQ(Shown({pgoutput::kNumericOid}, "-0." + std::string(400, '0') + "1"), "-0.0");
}

TEST_F(ColumnDatumTest, BytesAsText) {
  const auto shown = [&](BinaryMode mode) {
    modes_.binary = mode;
    return Shown({pgoutput::kByteaOid}, "\\xfbff");
  };
  EXPECT_EQ(shown(BinaryMode::kBase64), "+/8=");
  EXPECT_EQ(shown(BinaryMode::kBase64UrlSafe), "-_8=");
  EXPECT_EQ(shown(BinaryMode::kHex), "fbff");
  EXPECT_EQ(Shown({pgoutput::kByteaOid},
                  TupleValue{TupleValue::Kind::kBinary, std::string_view("\0\xff", 2)}),
            "00ff");
}

TEST_F(ColumnDatumTest, IntervalsAreMicrosecondsOrText) {
  EXPECT_EQ(Shown({pgoutput::kIntervalOid}, "1 mon"), "2629800000000");
  modes_.interval = IntervalMode::kString;
  EXPECT_EQ(Shown({pgoutput::kIntervalOid}, "1 mon"), "P0Y1M0DT0H0M0S");
  EXPECT_EQ(Shown({pgoutput::kIntervalOid}, "soon"), "WR-3007");
}

TEST_F(ColumnDatumTest, BitsAreLittleEndianWithoutTrailingZeros) {
  EXPECT_EQ(Shown({pgoutput::kBitOid, 1}, "1"), "true");
  EXPECT_EQ(Shown({pgoutput::kBitOid, 1}, "0"), "false");
  EXPECT_EQ(Shown({pgoutput::kVarbitOid, 1}, ""), "NULL");
  EXPECT_EQ(Shown({pgoutput::kBitOid, 3}, "101"), "BQ==");
  EXPECT_EQ(Shown({pgoutput::kBitOid, 9}, "100000001"), "AQE=");
  EXPECT_EQ(Shown({pgoutput::kBitOid, 9}, "000000001"), "AQ==");
  EXPECT_EQ(Shown({pgoutput::kVarbitOid}, ""), "");
  EXPECT_EQ(Shown({pgoutput::kVarbitOid}, "102"), "WR-3007");
}

TEST_F(ColumnDatumTest, HstoresAreObjectsOrMaps) {
  const ColumnTraits column{.type_oid = pgoutput::kFirstUserOid, .type_name = "hstore"};
  constexpr std::string_view kPairs = R"("b"=>"2", "a"=>NULL, "x y"=>"q\"\\o")";
  EXPECT_EQ(Shown(column, kPairs), R"({"x y":"q\"\\o","a":null,"b":"2"})");
  EXPECT_EQ(Shown(column, ""), "{}");
  EXPECT_EQ(Shown(column, "\"k\"=>\"\xf0\x9d\x84\x9e\n\""), "{\"k\":\"\xf0\x9d\x84\x9e\\n\"}");
  modes_.hstore = HstoreMode::kMap;
  EXPECT_EQ(Shown(column, kPairs), R"({"x y":"q\"\\o","a":null,"b":"2"})");
  EXPECT_EQ(Shown(column, "x"), "WR-3007");
}

TEST_F(ColumnDatumTest, OpaqueValuesAreTheBytesOfTheirText) {
  const ColumnTraits column{.type_oid = pgoutput::kFirstUserOid, .type_name = "pair"};
  modes_.unknown = UnknownTypes::kBytes;
  EXPECT_EQ(Shown(column, "(1,x)"), "KDEseCk=");
  modes_.binary = BinaryMode::kHex;
  EXPECT_EQ(Shown(column, "(1,x)"), "28312c7829");
}

TEST_F(ColumnDatumTest, UnknownTypeHasNoShape) {
  EXPECT_EQ(Shown({pgoutput::kFirstUserOid}, "x"), "WR-3002");
}

}  // namespace
}  // namespace walrelay
