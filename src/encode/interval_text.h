// An interval as printed by Postgres with IntervalStyle = postgres: "1 year 2 mons -3 days
// +04:05:06.789".
//
// Source: Postgres, src/backend/utils/adt/datetime.c, EncodeInterval;
// io.debezium.time.MicroDuration and Interval; org.postgresql.util.PGInterval.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace walrelay {

// The parts as printed, each with its own sign. All are in the range of Java's int.
struct Interval {
  int32_t years = 0;
  int32_t months = 0;
  int32_t days = 0;
  int32_t hours = 0;
  int32_t minutes = 0;
  double seconds = 0;
};

// nullopt: not an interval, an infinite one, or more hours than an int32 holds, which Debezium
// cannot read either.
std::optional<Interval> ParseInterval(std::string_view text);

// In microseconds, with 30.4375 days per month, by the floating-point arithmetic of Debezium; the
// nearest int64 if that is not in range.
int64_t IntervalMicros(const Interval& interval);

// "P1Y2M-3DT4H5M6.789S": all parts, also those that are 0.
std::string IntervalIsoText(const Interval& interval);

}  // namespace walrelay
