// Dates and times as printed by Postgres with DateStyle = ISO: "2026-11-20 08:14:02.000123+00",
// "0044-03-15 BC". Covers Postgres' whole range, 4714 BC to 294276 AD (dates: 5874897 AD);
// infinity is not a time.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "walrelay/clock.h"

namespace walrelay {

// With or without a zone; the default is UTC. nullopt for infinity, for years BC, for an invalid
// timestamp and for one that WallTime cannot represent.
std::optional<WallTime> ParseTimestamp(std::string_view text);

// A point in time beyond the range of WallTime.
struct Instant {
  int64_t seconds = 0;  // since 1970
  int32_t micros = 0;   // not negative
};

// The same without those limits. nullopt for infinity and for an invalid timestamp.
std::optional<Instant> ParseInstant(std::string_view text);

// Days since 1970 of "2026-11-20". nullopt for an invalid date.
std::optional<int64_t> ParseDate(std::string_view text);

// Time since midnight UTC, of "08:14:02.5" or "08:14:02.5+02". 24:00:00 is a full day. nullopt for
// an invalid time of day.
std::optional<Micros> ParseTimeOfDay(std::string_view text);

// A time of day as it is written: "24:00:00-12" is a whole day with the offset of -12 hours.
struct ClockTime {
  Micros of_day{0};
  std::chrono::seconds offset{0};
};
std::optional<ClockTime> ParseClock(std::string_view text);

// A day of the proleptic Gregorian calendar; 1 BC is the year 0.
struct CivilDate {
  int64_t year = 0;
  int month = 0;
  int day = 0;
};
// From days since 1970.
CivilDate CivilOf(int64_t days);

// As many digits as the value needs, instead of a fixed number.
inline constexpr int kShortestFraction = -1;

// ISO 8601 in UTC as printed by Java: "2026-11-20T08:14:02.000Z" with three fraction digits, no
// decimal point with zero digits; "-0043-03-15T…" for years before 0, "+10000-…" for years after
// 9999.
std::string IsoTimestamp(Instant instant, int fraction_digits);
// "2026-11-20", from days since 1970; the year as above.
std::string IsoDate(int64_t days);
// "08:14:02.5Z", with the shortest fraction. REQUIRES: 0 <= time < 24 hours.
std::string IsoTime(Micros time);

}  // namespace walrelay
