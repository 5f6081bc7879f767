#include "encode/temporal_datum.h"

#include <fmt/format.h>

#include <chrono>
#include <limits>

#include "base/text.h"
#include "encode/timestamp_text.h"
#include "walrelay/error.h"

namespace walrelay {
namespace {

// The values that Debezium uses for infinite timestamps. They are the JDBC driver's
// PGStatement.DATE_POSITIVE_INFINITY and DATE_NEGATIVE_INFINITY.
constexpr Instant kInfinity{.seconds = 9'223'372'036'825, .micros = 200'000};
constexpr Instant kMinusInfinity{.seconds = -9'223'372'036'833, .micros = 600'000};
// And for infinite dates, -5877611-06-21 and the day after it.
constexpr int64_t kInfiniteDay = -2'147'472'692;
constexpr int64_t kMinusInfiniteDay = -2'147'472'691;

constexpr std::string_view kInfinityText = "infinity";
constexpr std::string_view kMinusInfinityText = "-infinity";

bool IsInfinite(std::string_view text) {
  return text == kInfinityText || text == kMinusInfinityText;
}

std::optional<Instant> InstantOf(std::string_view text) {
  if (IsInfinite(text)) {
    return text == kInfinityText ? kInfinity : kMinusInfinity;
  }
  return ParseInstant(text);
}

absl::StatusOr<Datum> Micros64(std::string_view text, const Instant& instant) {
  // Years beyond the range of int64 microseconds exist in Postgres (up to 294276).
  constexpr int64_t kLast = std::numeric_limits<int64_t>::max();
  if (instant.seconds > (kLast - instant.micros) / 1'000'000) {
    return NotShown(text, "timestamp");
  }
  return Datum{instant.seconds * 1'000'000 + instant.micros};
}

// Beyond the range Debezium produces NULL, and fails if the column is NOT NULL. It multiplies whole
// days first, so that the range begins with a day.
absl::StatusOr<Datum> Nanos64(std::string_view text, const Instant& instant,
                              const ConnectColumnType& shape) {
  using Limits = std::numeric_limits<int64_t>;
  if (IsInfinite(text)) {
    return Datum{text == kInfinityText ? Limits::max() : Limits::min()};
  }
  constexpr int64_t kNanos = 1'000'000'000;
  constexpr int64_t kFirstSecond = Limits::min() / (kNanos * 86'400) * 86'400;
  constexpr int64_t kLastSecond = Limits::max() / kNanos;
  const int64_t nanos = int64_t{instant.micros} * 1000;
  const bool fits = instant.seconds >= kFirstSecond &&
                    (instant.seconds < kLastSecond ||
                     (instant.seconds == kLastSecond && nanos <= Limits::max() % kNanos));
  if (fits) {
    return Datum{instant.seconds * kNanos + nanos};
  }
  return shape.is_array || shape.schema->optional ? absl::StatusOr<Datum>(Datum{Null()})
                                                  : NotShown(text, "timestamp in nanoseconds");
}

absl::StatusOr<Datum> TimestampDatum(std::string_view text, const ConnectColumnType& shape,
                                     Arena& arena) {
  const auto instant = InstantOf(text);
  if (!instant) {
    return NotShown(text, "timestamp");
  }
  switch (shape.form) {
    case ColumnForm::kTimestampMillis:
      return Datum{instant->seconds * 1000 + instant->micros / 1000};
    case ColumnForm::kTimestampMicros:
      return Micros64(text, *instant);
    case ColumnForm::kTimestampNanos:
      return Nanos64(text, *instant, shape);
    default:
      return Datum{Keep(IsoTimestamp(*instant, kShortestFraction), arena)};
  }
}

absl::StatusOr<Datum> TimestampWithZone(std::string_view text, int digits, Arena& arena) {
  if (IsInfinite(text)) {
    return Datum{text};
  }
  const auto instant = ParseInstant(text);
  if (!instant) {
    return NotShown(text, "timestamp");
  }
  return Datum{Keep(IsoTimestamp(*instant, digits), arena)};
}

// ISO 8601 in UTC. The zone may have moved the time to another day, and "24:00:00" is the next one;
// only the time of day counts.
absl::StatusOr<Datum> TimeText(std::string_view text, Arena& arena) {
  constexpr Micros kDay = std::chrono::hours(24);
  const auto time = ParseTimeOfDay(text);
  if (!time) {
    return NotShown(text, "time");
  }
  return Datum{Keep(IsoTime((*time % kDay + kDay) % kDay), arena)};
}

// Since midnight; "24:00:00" is a whole day.
absl::StatusOr<Datum> TimeNumber(std::string_view text, ColumnForm form) {
  const auto time = ParseTimeOfDay(text);
  if (!time) {
    return NotShown(text, "time");
  }
  const int64_t micros = time->count();
  switch (form) {
    case ColumnForm::kTimeMillis:
      return Datum{micros / 1000};
    case ColumnForm::kTimeNanos:
      return Datum{micros * 1000};
    default:
      return Datum{micros};
  }
}

// The driver reads an infinite date in an array as another day, which means nothing.
std::optional<int64_t> DayOf(std::string_view text, bool in_array) {
  if (IsInfinite(text) && !in_array) {
    return text == kInfinityText ? kInfiniteDay : kMinusInfiniteDay;
  }
  return ParseDate(text);
}

absl::StatusOr<Datum> DateDatum(std::string_view text, const ConnectColumnType& shape,
                                Arena& arena) {
  const auto day = DayOf(text, shape.is_array);
  if (!day) {
    return NotShown(text, "date");
  }
  return shape.form == ColumnForm::kDate ? Datum{*day} : Datum{Keep(IsoDate(*day) + "Z", arena)};
}

}  // namespace

// The value is row data: it is escaped, and cut to what identifies it.
absl::Status NotShown(std::string_view text, std::string_view what) {
  return Error(
      ErrorCode::kValueInvalid,
      fmt::format("\"{}\" is not a valid {} for a Connect format", Printable(text, 40), what));
}

std::string_view Keep(std::string_view text, Arena& arena) {
  char* const out = arena.Allocate(text.size());
  text.copy(out, text.size());
  return {out, text.size()};
}

absl::StatusOr<Datum> TemporalDatum(std::string_view text, const ConnectColumnType& shape,
                                    Arena& arena) {
  switch (shape.form) {
    case ColumnForm::kDate:
    case ColumnForm::kDateText:
      return DateDatum(text, shape, arena);
    case ColumnForm::kTimeText:
      return TimeText(text, arena);
    case ColumnForm::kTimeMillis:
    case ColumnForm::kTimeMicros:
    case ColumnForm::kTimeNanos:
      return TimeNumber(text, shape.form);
    case ColumnForm::kTimestampWithZone:
      return TimestampWithZone(text, shape.fraction_digits, arena);
    default:
      return TimestampDatum(text, shape, arena);
  }
}

}  // namespace walrelay
