// Dates and times as Postgres prints them with DateStyle = ISO: "2026-11-20 08:14:02.000123+00",
// "0044-03-15 BC". All of Postgres' range, 4714 BC to 294276 AD; infinity is no time.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "walrelay/clock.h"

namespace walrelay {

// With or without a zone; without one it is UTC. nullopt for infinity, for years BC, for what is no
// timestamp and for what WallTime cannot hold.
std::optional<WallTime> ParseTimestamp(std::string_view text);

// A point in time of which WallTime has not enough bits.
struct Instant {
  int64_t seconds = 0;  // since 1970
  int32_t micros = 0;   // from 0 up
};

// The same without those limits. nullopt for infinity and for what is no timestamp.
std::optional<Instant> ParseInstant(std::string_view text);

// Days since 1970 of "2026-11-20". nullopt for what is no date.
std::optional<int64_t> ParseDate(std::string_view text);

// Since midnight UTC, of "08:14:02.5" or "08:14:02.5+02". 24:00:00 is a day. nullopt for what is no
// time of day.
std::optional<Micros> ParseTimeOfDay(std::string_view text);

// ISO 8601 in UTC as Java prints it: "2026-11-20T08:14:02.000Z" with three fraction digits, without
// a point with none; "-0043-03-15T…" for years before 0, "+10000-…" for those beyond 9999.
std::string IsoTimestamp(Instant instant, int fraction_digits);

}  // namespace walrelay
