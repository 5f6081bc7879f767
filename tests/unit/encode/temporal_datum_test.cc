#include "encode/temporal_datum.h"

#include <gtest/gtest.h>

#include <string>

#include "encode/connect_text.h"
#include "fakes/status_matchers.h"
#include "pgoutput/type_oids.h"
#include "walrelay/config.h"
#include "walrelay/error.h"

namespace walrelay {
namespace {

using pgoutput::kDateOid;
using pgoutput::kTimeOid;
using pgoutput::kTimestampOid;
using pgoutput::kTimetzOid;

class TemporalDatumTest : public ::testing::Test {
 protected:
  // The value as header text, "NULL", or the error code.
  std::string Shown(const ColumnTraits& column, std::string_view text) {
    const auto shape = ShapeOf(column, {.time = mode_, .version = version_});
    EXPECT_THAT(shape, IsOk());
    const auto datum = TemporalDatum(text, *shape, arena_);
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

  Arena arena_;
  TimeMode mode_ = TimeMode::kAdaptive;
  DebeziumVersion version_ = DebeziumVersion::k3_7;
};

TEST_F(TemporalDatumTest, IsoStringsHaveTheShortestFraction) {
  mode_ = TimeMode::kIsoString;
  EXPECT_EQ(Shown({kDateOid}, "2024-02-29"), "2024-02-29Z");
  EXPECT_EQ(Shown({kDateOid}, "0044-03-15 BC"), "-0043-03-15Z");
  EXPECT_EQ(Shown({kDateOid}, "12345-06-07"), "+12345-06-07Z");
  EXPECT_EQ(Shown({kDateOid}, "infinity"), "+5877611-06-21Z");
  EXPECT_EQ(Shown({kTimeOid}, "12:34:56.7"), "12:34:56.7Z");
  EXPECT_EQ(Shown({kTimeOid}, "24:00:00"), "00:00:00Z");
  EXPECT_EQ(Shown({kTimestampOid}, "2024-02-29 12:00:05.1"), "2024-02-29T12:00:05.1Z");
  EXPECT_EQ(Shown({kTimestampOid, 3}, "2024-02-29 12:00:00"), "2024-02-29T12:00:00Z");
  EXPECT_EQ(Shown({kTimestampOid}, "infinity"), "+292278994-08-16T23:00:00Z");
  EXPECT_EQ(Shown({kTimestampOid}, "-infinity"), "-292275055-05-16T23:00:00Z");
}

TEST_F(TemporalDatumTest, ConnectsTypesAreShownAsJavaDates) {
  mode_ = TimeMode::kConnect;
  EXPECT_EQ(Shown({kDateOid}, "2024-12-30"), "2024-12-30");
  EXPECT_EQ(Shown({kDateOid}, "12345-06-07"), "12345-06-07");
  // Everything before the second day is shown as a time.
  EXPECT_EQ(Shown({kDateOid}, "1969-12-31"), "00:00:00.000Z");
  EXPECT_EQ(Shown({kTimeOid}, "23:59:59.999999"), "23:59:59.999Z");
  EXPECT_EQ(Shown({kTimeOid}, "24:00:00"), "1970-01-02");
  EXPECT_EQ(Shown({kTimestampOid}, "2024-02-29 12:00:05.1"), "2024-02-29T12:00:05.100Z");
  EXPECT_EQ(Shown({kTimestampOid}, "1969-12-31 23:59:59.5"), "23:59:59.500Z");
  EXPECT_EQ(Shown({kTimestampOid}, "294276-12-31 23:59:59.999999"), "294276-12-31T23:59:59.999Z");
  EXPECT_EQ(Shown({kTimestampOid}, "-infinity"), "23:00:00.000Z");
}

TEST_F(TemporalDatumTest, NanosecondsBeyondTheRangeAreNull) {
  mode_ = TimeMode::kNanoseconds;
  EXPECT_EQ(Shown({kTimeOid, 3}, "00:00:00.001"), "1000000");
  EXPECT_EQ(Shown({kTimestampOid}, "2262-04-11 23:47:16.854775"), "9223372036854775000");
  EXPECT_EQ(Shown({kTimestampOid}, "2262-04-11 23:47:16.854776"), "NULL");
  EXPECT_EQ(Shown({kTimestampOid}, "1677-09-22 00:00:00"), "-9223286400000000000");
  EXPECT_EQ(Shown({kTimestampOid}, "1677-09-21 23:59:59"), "NULL");
  EXPECT_EQ(Shown({kTimestampOid}, "infinity"), "9223372036854775807");
  EXPECT_EQ(Shown({kTimestampOid}, "-infinity"), "-9223372036854775808");
  EXPECT_EQ(Shown({.type_oid = kTimestampOid, .nullable = false}, "2300-01-01 00:00:00"),
            "WR-3007");
}

TEST_F(TemporalDatumTest, MicrosecondsThatOverflowAreAnError) {
  mode_ = TimeMode::kMicroseconds;
  EXPECT_EQ(Shown({kTimestampOid, 3}, "294276-12-31 23:59:59"), "WR-3007");
  EXPECT_EQ(Shown({kTimestampOid}, "294247-01-10 04:00:54.775807"), "9223372036854775807");
  EXPECT_EQ(Shown({kTimestampOid}, "294247-01-10 04:00:54.775808"), "WR-3007");
  EXPECT_EQ(Shown({kTimestampOid}, "4713-01-01 00:00:00 BC"), "-210863520000000000");
}

TEST_F(TemporalDatumTest, Debezium36ReadsInfinityInOtherUnits) {
  version_ = DebeziumVersion::k3_6;
  EXPECT_EQ(Shown({kDateOid}, "infinity"), "-2147472692");
  EXPECT_EQ(Shown({kDateOid}, "-infinity"), "-2147472691");
  EXPECT_EQ(Shown({kTimestampOid}, "infinity"), "9223372036825200000");
  EXPECT_EQ(Shown({kTimestampOid}, "-infinity"), "-9223372036832400000");
  EXPECT_EQ(Shown({kTimestampOid, 3}, "infinity"), "9223372036825200");
  mode_ = TimeMode::kIsoString;
  EXPECT_EQ(Shown({kDateOid}, "infinity"), "-5877611-06-21Z");
  EXPECT_EQ(Shown({kTimestampOid}, "infinity"), "+294247-01-10T04:00:25.2Z");
  EXPECT_EQ(Shown({kTimestampOid}, "-infinity"), "-290308-12-21T19:59:27.6Z");
}

TEST_F(TemporalDatumTest, TimesWithAZoneDependOnTheVersion) {
  EXPECT_EQ(Shown({kTimetzOid}, "24:00:00+00"), "24:00:00Z");
  EXPECT_EQ(Shown({kTimetzOid}, "24:00:00-02"), "02:00:00Z");
  EXPECT_EQ(Shown({kTimetzOid}, "12:00:00+01:02:03"), "NULL");
  EXPECT_EQ(Shown({.type_oid = kTimetzOid, .nullable = false}, "12:00:00+01:02:03"), "WR-3007");
  version_ = DebeziumVersion::k3_6;
  EXPECT_EQ(Shown({kTimetzOid}, "24:00:00+00"), "00:00:00Z");
  EXPECT_EQ(Shown({kTimetzOid}, "12:00:00+01:02:03"), "WR-3007");
}

TEST_F(TemporalDatumTest, TextOfAnotherTypeIsAnError) {
  for (const uint32_t oid : {kDateOid, kTimeOid, kTimestampOid}) {
    EXPECT_EQ(Shown({oid}, "tomorrow"), "WR-3007") << oid;
  }
}

}  // namespace
}  // namespace walrelay
