#include "config/value_text.h"

#include <gtest/gtest.h>

#include <limits>

namespace walrelay {
namespace {

using namespace std::chrono_literals;

TEST(DurationTextTest, DurationIsNumbersWithUnits) {
  EXPECT_EQ(ParseDuration("7us"), 7us);
  EXPECT_EQ(ParseDuration("250ms"), 250ms);
  EXPECT_EQ(ParseDuration("30s"), 30s);
  EXPECT_EQ(ParseDuration("5m"), 5min);
  EXPECT_EQ(ParseDuration("48h"), 48h);
  EXPECT_EQ(ParseDuration("0s"), 0s);
  EXPECT_EQ(ParseDuration("007s"), 7s);
  EXPECT_EQ(ParseDuration("1.5s"), 1500ms);
  EXPECT_EQ(ParseDuration("1h30m"), 90min);
}

TEST(DurationTextTest, OnlyZeroNeedsNoUnit) {
  EXPECT_EQ(ParseDuration("0"), 0s);
  EXPECT_EQ(ParseDuration("30"), std::nullopt);
}

TEST(DurationTextTest, InvalidTextIsRejected) {
  for (const char* text : {"", "s", " 30s", "30s ", "30 s", "-1s", "+1s", "1e3s", "30S", "30sec",
                           "1d", "30ns", "0x10s", "inf", "-0", "1.5us", "1 h"}) {
    EXPECT_EQ(ParseDuration(text), std::nullopt) << text;
  }
}

TEST(DurationTextTest, DurationRangeIsThatOfMicroseconds) {
  EXPECT_EQ(ParseDuration("9223372036854775807us"), Micros::max());
  EXPECT_EQ(ParseDuration("9223372036854775808us"), std::nullopt);
  EXPECT_EQ(ParseDuration("9223372036854775807h"), std::nullopt);
  EXPECT_EQ(ParseDuration("2562047788h"), 2562047788h);
  EXPECT_EQ(ParseDuration("2562047789h"), std::nullopt);
}

TEST(DurationTextTest, DurationIsFormattedInTheLargestExactUnit) {
  EXPECT_EQ(FormatConfigDuration(30s), "30s");
  EXPECT_EQ(FormatConfigDuration(60s), "1m");
  EXPECT_EQ(FormatConfigDuration(90s), "90s");
  EXPECT_EQ(FormatConfigDuration(24h), "24h");
  EXPECT_EQ(FormatConfigDuration(1500ms), "1500ms");
  EXPECT_EQ(FormatConfigDuration(1us), "1us");
  EXPECT_EQ(FormatConfigDuration(0s), "0");
}

TEST(DurationTextTest, FormatRoundTrips) {
  for (const Micros duration :
       {Micros(0), Micros(1), Micros(999), Micros(1'000), Micros(61'000'000), Micros(3'600'000'001),
        Micros(7'200'000'000), Micros::max()}) {
    EXPECT_EQ(ParseDuration(FormatConfigDuration(duration)), duration) << duration.count();
  }
}

TEST(DurationTextTest, OtherNamesOfUnitsAreCorrected) {
  EXPECT_EQ(NearestDuration("25 sec"), "25s");
  EXPECT_EQ(NearestDuration("25"), "25s");
  EXPECT_EQ(NearestDuration("2 Minutes"), "2m");
  EXPECT_EQ(NearestDuration("100msec"), "100ms");
  for (const char* text : {"", "sec", "1d", "two sec", "-1 sec", "99999999999999999999h"}) {
    EXPECT_EQ(NearestDuration(text), "") << text;
  }
}

TEST(SizeTextTest, OtherNamesOfUnitsAreCorrected) {
  EXPECT_EQ(NearestSize("64MB"), "64MiB");
  EXPECT_EQ(NearestSize("64 mib"), "64MiB");
  EXPECT_EQ(NearestSize("1k"), "1KiB");
  EXPECT_EQ(NearestSize("10 bytes"), "10B");
  for (const char* text : {"", "MB", "1TB", "-1MB", "99999999999GB"}) {
    EXPECT_EQ(NearestSize(text), "") << text;
  }
}

TEST(SizeTextTest, SizeIsAnIntegerWithAnOptionalUnit) {
  EXPECT_EQ(ParseSize("1000"), 1000);
  EXPECT_EQ(ParseSize("1000B"), 1000);
  EXPECT_EQ(ParseSize("3KiB"), 3 << 10);
  EXPECT_EQ(ParseSize("64MiB"), 64 << 20);
  EXPECT_EQ(ParseSize("2GiB"), int64_t{2} << 30);
  EXPECT_EQ(ParseSize("0"), 0);
}

TEST(SizeTextTest, InvalidTextIsRejected) {
  for (const char* text : {"", "B", "MiB", "1MB", "1kB", "1 MiB", "-1", "+1", "1.5MiB", "1mib",
                           "1BB", "1MiBB", "1Mi"}) {
    EXPECT_EQ(ParseSize(text), std::nullopt) << text;
  }
}

TEST(SizeTextTest, SizeRangeIsThatOfInt64) {
  EXPECT_EQ(ParseSize("9223372036854775807"), std::numeric_limits<int64_t>::max());
  EXPECT_EQ(ParseSize("9223372036854775808"), std::nullopt);
  EXPECT_EQ(ParseSize("8589934591GiB"), int64_t{8589934591} << 30);
  EXPECT_EQ(ParseSize("8589934592GiB"), std::nullopt);
}

TEST(SizeTextTest, FormatRoundTrips) {
  EXPECT_EQ(FormatSize(1'000'000), "1000000B");
  EXPECT_EQ(FormatSize(16 << 20), "16MiB");
  for (const int64_t bytes :
       {int64_t{0}, int64_t{1}, int64_t{1023}, int64_t{1024}, int64_t{1'000'000}, int64_t{3} << 30,
        std::numeric_limits<int64_t>::max()}) {
    EXPECT_EQ(ParseSize(FormatSize(bytes)), bytes) << bytes;
  }
}

}  // namespace
}  // namespace walrelay
