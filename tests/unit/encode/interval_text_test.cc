#include "encode/interval_text.h"

#include <gtest/gtest.h>

#include <limits>

namespace walrelay {
namespace {

int64_t MicrosOf(std::string_view text) {
  const auto interval = ParseInterval(text);
  EXPECT_TRUE(interval.has_value()) << text;
  return interval ? IntervalMicros(*interval) : -1;
}

std::string IsoOf(std::string_view text) {
  const auto interval = ParseInterval(text);
  EXPECT_TRUE(interval.has_value()) << text;
  return interval ? IntervalIsoText(*interval) : "";
}

// Expected values: Debezium 3.6.0.Final.
TEST(IntervalTextTest, MicrosecondsCountAMonthAsItsAverage) {
  EXPECT_EQ(MicrosOf("00:00:00"), 0);
  EXPECT_EQ(MicrosOf("1 mon"), 2'629'800'000'000);
  EXPECT_EQ(MicrosOf("1 year 2 mons 3 days 04:05:06.789"), 37'091'106'789'000);
  EXPECT_EQ(MicrosOf("-1 years -2 mons +3 days -04:05:06.789"), -36'572'706'789'000);
  EXPECT_EQ(MicrosOf("-00:00:00.000001"), -1);
  EXPECT_EQ(MicrosOf("00:00:59.999999"), 59'999'999);
  EXPECT_EQ(MicrosOf("1000000:00:00.5"), 3'600'000'000'500'000);
}

TEST(IntervalTextTest, MicrosecondsEndAtTheLimits) {
  EXPECT_EQ(MicrosOf("178000000 years"), std::numeric_limits<int64_t>::max());
  EXPECT_EQ(MicrosOf("-178000000 years"), std::numeric_limits<int64_t>::min());
}

TEST(IntervalTextTest, IsoTextHasAllParts) {
  EXPECT_EQ(IsoOf("00:00:00"), "P0Y0M0DT0H0M0S");
  EXPECT_EQ(IsoOf("1 year 2 mons 3 days 04:05:06.789"), "P1Y2M3DT4H5M6.789S");
  EXPECT_EQ(IsoOf("-1 years -2 mons +3 days -04:05:06.789"), "P-1Y-2M3DT-4H-5M-6.789S");
  EXPECT_EQ(IsoOf("-1 days +00:00:10"), "P0Y0M-1DT0H0M10S");
  EXPECT_EQ(IsoOf("-00:00:00.000001"), "P0Y0M0DT0H0M-0.000001S");
  EXPECT_EQ(IsoOf("100:00:00"), "P0Y0M0DT100H0M0S");
}

TEST(IntervalTextTest, OtherTextIsRejected) {
  for (const char* text : {"", "1", "1 week", "P1D", "@ 1 day", "1:2", "1:2:3 1 day", "infinity",
                           "2562047788:00:54.775807", "1 day x", " 1 day", "1:2:3x"}) {
    EXPECT_FALSE(ParseInterval(text).has_value()) << text;
  }
}

}  // namespace
}  // namespace walrelay
