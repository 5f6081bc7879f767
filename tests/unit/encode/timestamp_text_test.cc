#include "encode/timestamp_text.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <random>
#include <string>

namespace walrelay {
namespace {

using namespace std::chrono;  // NOLINT: calendars

// Microseconds since 1970, or nullopt.
std::optional<int64_t> Parsed(std::string_view text) {
  const auto time = ParseTimestamp(text);
  return time ? std::optional(time->time_since_epoch().count()) : std::nullopt;
}

TEST(TimestampTextTest, TimestampWithoutZoneIsUtc) {
  EXPECT_EQ(Parsed("1970-01-01 00:00:00"), 0);
  EXPECT_EQ(Parsed("2026-11-20 08:14:02"), 1'795'162'442'000'000);
}

TEST(TimestampTextTest, FractionHasOneToSixDigits) {
  EXPECT_EQ(Parsed("1970-01-01 00:00:00.5"), 500'000);
  EXPECT_EQ(Parsed("1970-01-01 00:00:00.05"), 50'000);
  EXPECT_EQ(Parsed("1970-01-01 00:00:00.123+00"), 123'000);
  EXPECT_EQ(Parsed("1970-01-01 00:00:00.000001"), 1);
  EXPECT_EQ(Parsed("1970-01-01 00:00:00.999999"), 999'999);
  EXPECT_EQ(Parsed("1970-01-01 00:00:00.0000001"), std::nullopt);
  EXPECT_EQ(Parsed("1970-01-01 00:00:00."), std::nullopt);
}

TEST(TimestampTextTest, ZonesEastAreEarlierAndZonesWestAreLater) {
  constexpr int64_t kHour = 3'600'000'000;
  EXPECT_EQ(Parsed("1970-01-01 12:00:00+00"), 12 * kHour);
  EXPECT_EQ(Parsed("1970-01-01 12:00:00+01"), 11 * kHour);
  EXPECT_EQ(Parsed("1970-01-01 12:00:00-08"), 20 * kHour);
  EXPECT_EQ(Parsed("1970-01-01 12:00:00+05:30"), 6 * kHour + kHour / 2);
  EXPECT_EQ(Parsed("1970-01-01 12:00:00-03:30"), 15 * kHour + kHour / 2);
  EXPECT_EQ(Parsed("1970-01-01 12:00:00+00:19:32"), 12 * kHour - 1'172'000'000);  // Amsterdam, 1937
  EXPECT_EQ(Parsed("1970-01-01 00:00:00+14"), -14 * kHour);
}

TEST(TimestampTextTest, TimeBeforeTheEpochIsNegative) {
  EXPECT_EQ(Parsed("1969-12-31 23:59:59.999999+00"), -1);
  EXPECT_EQ(Parsed("0001-01-01 00:00:00+00"), -62'135'596'800'000'000);
}

TEST(TimestampTextTest, YearsHaveUpToSixDigits) {
  EXPECT_EQ(Parsed("9999-12-31 23:59:59+00"), 253'402'300'799'000'000);
  EXPECT_EQ(Parsed("10000-01-01 00:00:00+00"), 253'402'300'800'000'000);
  EXPECT_EQ(Parsed("32767-12-31 00:00:00+00"), 971'890'876'800'000'000);
  EXPECT_EQ(Parsed("32768-01-01 00:00:00+00"), 971'890'963'200'000'000);
}

TEST(TimestampTextTest, RangeIsThatOfMicroseconds) {
  EXPECT_EQ(Parsed("294247-01-10 04:00:54.775807+00"), INT64_MAX);
  EXPECT_EQ(Parsed("294247-01-10 04:00:54.775808+00"), std::nullopt);
  EXPECT_EQ(Parsed("294247-01-10 05:00:54.775807+01"), INT64_MAX);
  EXPECT_EQ(Parsed("294247-01-10 04:00:54.775807-01"), std::nullopt);
  EXPECT_EQ(Parsed("294276-12-31 23:59:59.999999+00"), std::nullopt);
  EXPECT_EQ(Parsed("999999-12-31 23:59:59.999999-15"), std::nullopt);
}

TEST(TimestampTextTest, InfinityAndBcAreRejected) {
  for (const char* text :
       {"infinity", "-infinity", "0044-03-15 12:00:00+00 BC", "4713-01-01 00:00:00 BC"}) {
    EXPECT_EQ(Parsed(text), std::nullopt) << text;
  }
}

TEST(TimestampTextTest, LeapDaysFollowTheCalendar) {
  EXPECT_EQ(Parsed("2024-02-29 00:00:00"), 1'709'164'800'000'000);
  EXPECT_NE(Parsed("2000-02-29 00:00:00"), std::nullopt);
  EXPECT_NE(Parsed("32800-02-29 00:00:00"), std::nullopt);
  EXPECT_EQ(Parsed("2023-02-29 00:00:00"), std::nullopt);
  EXPECT_EQ(Parsed("2100-02-29 00:00:00"), std::nullopt);
}

TEST(TimestampTextTest, InvalidTextIsRejected) {
  for (const char* text : {"",
                           " ",
                           "now",
                           "2026-11-20",
                           "2026-11-20T08:14:02",
                           "2026-11-20 08:14",
                           "26-11-20 08:14:02",
                           "2026-1-20 08:14:02",
                           "2026-13-20 08:14:02",
                           "2026-00-20 08:14:02",
                           "2026-11-31 08:14:02",
                           "2026-11-00 08:14:02",
                           "0000-01-01 00:00:00",
                           "2026-11-20 24:00:00",
                           "2026-11-20 08:60:02",
                           "2026-11-20 08:14:60",
                           "2026-11-20 08:14:02 ",
                           "2026-11-20 08:14:02+",
                           "2026-11-20 08:14:02+1",
                           "2026-11-20 08:14:02+01:",
                           "2026-11-20 08:14:02+01:60",
                           "2026-11-20 08:14:02Z",
                           "-2026-11-20 08:14:02",
                           "2026-11-20 08:14:02+00 AD",
                           "20/11/2026 08:14:02",
                           "1234567-01-01 00:00:00"}) {
    EXPECT_EQ(Parsed(text), std::nullopt) << text;
  }
}

// As Postgres prints it; years up to 9999.
std::string Written(WallTime time) {
  const auto day = floor<days>(time);
  const year_month_day date(day);
  const hh_mm_ss clock(time - day);
  return fmt::format("{:04}-{:02}-{:02} {:02}:{:02}:{:02}.{:06}+00", static_cast<int>(date.year()),
                     static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()),
                     clock.hours().count(), clock.minutes().count(), clock.seconds().count(),
                     clock.subseconds().count());
}

TEST(TimestampTextTest, EveryTimeRoundTrips) {
  constexpr uint64_t kYear10000 = 253'402'300'800'000'000;
  std::mt19937_64 random(7);
  for (int round = 0; round < 2'000; ++round) {
    const WallTime time{Micros(static_cast<int64_t>(random() % kYear10000))};
    EXPECT_EQ(ParseTimestamp(Written(time)), time) << Written(time);
  }
}

}  // namespace
}  // namespace walrelay
