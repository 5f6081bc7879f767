#include "encode/structured_datum.h"

#include <gtest/gtest.h>

#include <string>

#include "encode/column_datum.h"
#include "encode/connect_json.h"
#include "fakes/status_matchers.h"
#include "pgoutput/type_oids.h"
#include "walrelay/config.h"

namespace walrelay {
namespace {

// Expected values: Debezium 3.7.0.Final.
class StructuredDatumTest : public ::testing::Test {
 protected:
  // The value as JSON, "null", or the error code.
  std::string Json(const ColumnTraits& column, std::string_view text) {
    const auto shape = ShapeOf(column, {.time = TimeMode::kStructured});
    EXPECT_THAT(shape, IsOk());
    const auto datum = DatumOfText(text, *shape, arena_);
    if (!datum.ok()) {
      return ToString(CodeOf(datum.status()));
    }
    std::string out;
    AppendConnectJson(*shape->schema, *datum, out);
    return out;
  }

  Arena arena_;
};

TEST_F(StructuredDatumTest, DatesHaveThreeParts) {
  EXPECT_EQ(Json({pgoutput::kDateOid}, "2024-02-29"),
            R"({"year":2024,"month":2,"day":29,"specialValue":null})");
  EXPECT_EQ(Json({pgoutput::kDateOid}, "0044-03-15 BC"),
            R"({"year":-43,"month":3,"day":15,"specialValue":null})");
  EXPECT_EQ(Json({pgoutput::kDateOid}, "-infinity"),
            R"({"year":null,"month":null,"day":null,"specialValue":"NEGATIVE_INFINITY"})");
  EXPECT_EQ(Json({pgoutput::kDateOid}, "x"), "WR-3007");
}

TEST_F(StructuredDatumTest, TimesHaveTheDeclaredPrecision) {
  EXPECT_EQ(Json({pgoutput::kTimeOid}, "12:34:56.7"),
            R"({"hour":12,"minute":34,"second":56,"nanos":700000000,"precision":6})");
  EXPECT_EQ(Json({pgoutput::kTimeOid, 3}, "00:00:00.001"),
            R"({"hour":0,"minute":0,"second":0,"nanos":1000000,"precision":3})");
}

TEST_F(StructuredDatumTest, EndOfTheDayIsATimeOnlyWithAZone) {
  EXPECT_EQ(Json({pgoutput::kTimeOid}, "24:00:00"), "null");
  EXPECT_EQ(Json({.type_oid = pgoutput::kTimeOid, .nullable = false}, "24:00:00"), "WR-3007");
  constexpr uint32_t kTimes = 1183;
  EXPECT_EQ(Json({kTimes}, "{24:00:00}"),
            R"([{"hour":0,"minute":0,"second":0,"nanos":0,"precision":6}])");
  EXPECT_EQ(Json({pgoutput::kTimetzOid}, "24:00:00-12"),
            R"({"hour":24,"minute":0,"second":0,"nanos":0,"offsetSeconds":-43200,"precision":6})");
}

TEST_F(StructuredDatumTest, TimesWithAZoneKeepTheirOffset) {
  EXPECT_EQ(
      Json({pgoutput::kTimetzOid, 2}, "12:00:00.45+01:02:03"),
      R"({"hour":12,"minute":0,"second":0,"nanos":450000000,"offsetSeconds":3723,"precision":2})");
}

TEST_F(StructuredDatumTest, TimestampsAreSplit) {
  EXPECT_EQ(Json({pgoutput::kTimestampOid}, "1969-12-31 23:59:59.999999"),
            R"({"year":1969,"month":12,"day":31,"hour":23,"minute":59,"second":59,)"
            R"("nanos":999999000,"specialValue":null,"precision":6})");
  EXPECT_EQ(Json({pgoutput::kTimestampOid, 3}, "infinity"),
            R"({"year":null,"month":null,"day":null,"hour":null,"minute":null,"second":null,)"
            R"("nanos":null,"specialValue":"POSITIVE_INFINITY","precision":3})");
}

TEST_F(StructuredDatumTest, TimestampsWithAZoneAreInUtc) {
  EXPECT_EQ(Json({pgoutput::kTimestamptzOid}, "2024-02-29 23:59:59.5+05:30"),
            R"({"year":2024,"month":2,"day":29,"hour":18,"minute":29,"second":59,)"
            R"("nanos":500000000,"offsetSeconds":0,"zoneId":"Z","specialValue":null,)"
            R"("precision":6})");
  EXPECT_EQ(Json({pgoutput::kTimestamptzOid}, "infinity"),
            R"({"year":null,"month":null,"day":null,"hour":null,"minute":null,"second":null,)"
            R"("nanos":null,"offsetSeconds":null,"zoneId":null,)"
            R"("specialValue":"POSITIVE_INFINITY","precision":6})");
}

TEST_F(StructuredDatumTest, IntervalsHaveSigns) {
  EXPECT_EQ(Json({pgoutput::kIntervalOid}, "-1 years -2 mons +3 days -04:05:06.789"),
            R"({"years":-1,"months":-2,"days":3,"hours":-4,"minutes":-5,"seconds":-6,)"
            R"("nanos":-789000000,"precision":6})");
  // interval year
  EXPECT_EQ(Json({pgoutput::kIntervalOid, 4 << 16 | 0xFFFF}, "3 years"),
            R"({"years":3,"months":0,"days":0,"hours":0,"minutes":0,"seconds":0,)"
            R"("nanos":0,"precision":65535})");
}

TEST_F(StructuredDatumTest, MembersOfTheSchemaAreOptional) {
  std::string out;
  AppendConnectSchema(StructuredSchema(ColumnForm::kStructuredDate), out);
  EXPECT_EQ(out, R"({"type":"struct","fields":[{"type":"int32","optional":true,"field":"year"},)"
                 R"({"type":"int8","optional":true,"field":"month"},)"
                 R"({"type":"int8","optional":true,"field":"day"},)"
                 R"({"type":"string","optional":true,"field":"specialValue"}],"optional":false,)"
                 R"("name":"io.debezium.time.StructuredDate","version":1})");
}

}  // namespace
}  // namespace walrelay
