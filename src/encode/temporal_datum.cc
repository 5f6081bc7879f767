#include "encode/temporal_datum.h"

#include <fmt/format.h>

#include <chrono>
#include <limits>

#include "base/text.h"
#include "encode/timestamp_text.h"
#include "pgoutput/type_oids.h"
#include "walrelay/config/format.h"
#include "walrelay/error.h"

namespace walrelay {
namespace {

using Limits = std::numeric_limits<int64_t>;

// The values that Debezium uses for infinite timestamps. They are the JDBC driver's
// PGStatement.DATE_POSITIVE_INFINITY and DATE_NEGATIVE_INFINITY: milliseconds, which Debezium 3.6
// reads as microseconds.
constexpr Instant kInfinity{.seconds = 9'223'372'036'825'200, .micros = 0};
constexpr Instant kMinusInfinity{.seconds = -9'223'372'036'832'400, .micros = 0};
constexpr Instant kInfinity36{.seconds = 9'223'372'036'825, .micros = 200'000};
constexpr Instant kMinusInfinity36{.seconds = -9'223'372'036'833, .micros = 600'000};
// And for infinite dates: 5877611-06-21 and -5877611-06-22. In Debezium 3.6 the former is BC, too.
constexpr int64_t kInfiniteDay = 2'146'033'979;
constexpr int64_t kInfiniteDay36 = -2'147'472'692;
constexpr int64_t kMinusInfiniteDay = -2'147'472'691;

constexpr std::string_view kInfinityText = "infinity";
constexpr std::string_view kMinusInfinityText = "-infinity";

std::optional<Instant> InstantOf(std::string_view text, DebeziumVersion version) {
  if (!IsInfinite(text)) {
    return ParseInstant(text);
  }
  if (version == DebeziumVersion::k3_6) {
    return text == kInfinityText ? kInfinity36 : kMinusInfinity36;
  }
  return text == kInfinityText ? kInfinity : kMinusInfinity;
}

absl::StatusOr<Datum> Micros64(std::string_view text, const Instant& instant,
                               DebeziumVersion version) {
  if (IsInfinite(text) && version != DebeziumVersion::k3_6) {
    return Datum{text == kInfinityText ? Limits::max() : Limits::min()};
  }
  // Years beyond the range of int64 microseconds exist in Postgres (up to 294276).
  if (instant.seconds > (Limits::max() - instant.micros) / 1'000'000) {
    return NotShown(text, "timestamp");
  }
  return Datum{instant.seconds * 1'000'000 + instant.micros};
}

// Beyond the range Debezium produces NULL, and fails if the column is NOT NULL. It multiplies whole
// days first, so that the range begins with a day.
absl::StatusOr<Datum> Nanos64(std::string_view text, const Instant& instant,
                              const ConnectColumnType& shape) {
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
  const auto instant = InstantOf(text, shape.version);
  if (!instant) {
    return NotShown(text, "timestamp");
  }
  switch (shape.form) {
    case ColumnForm::kTimestampMillis:
      return Datum{instant->seconds * 1000 + instant->micros / 1000};
    case ColumnForm::kTimestampMicros:
      return Micros64(text, *instant, shape.version);
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
absl::StatusOr<Datum> TimeText(std::string_view text, Arena& arena, Micros unit = Micros(1)) {
  constexpr Micros kDay = std::chrono::hours(24);
  const auto time = ParseTimeOfDay(text);
  if (!time) {
    return NotShown(text, "time");
  }
  const Micros of_day = (*time % kDay + kDay) % kDay;
  return Datum{Keep(IsoTime(of_day - of_day % unit), arena)};
}

// Debezium 3.6 shows the end of the day in UTC as its beginning, and stops at an offset with
// seconds, as historical zones have them. Debezium 3.7 omits a value with such an offset. In arrays
// Debezium 3.6 reads whole seconds.
absl::StatusOr<Datum> TimeWithZone(std::string_view text, const ConnectColumnType& shape,
                                   Arena& arena) {
  const auto time = ParseClock(text);
  if (!time) {
    return NotShown(text, "time");
  }
  if (time->offset % std::chrono::minutes(1) != std::chrono::seconds(0)) {
    return shape.version == DebeziumVersion::k3_6 ? NotShown(text, "time with zone")
                                                  : NullOr(text, "time with zone", shape);
  }
  const bool end_of_day =
      time->of_day == std::chrono::hours(24) && time->offset == std::chrono::seconds(0);
  if (end_of_day && shape.version != DebeziumVersion::k3_6) {
    return Datum{std::string_view("24:00:00Z")};
  }
  const bool whole_seconds = shape.is_array && shape.version == DebeziumVersion::k3_6;
  return TimeText(text, arena, whole_seconds ? std::chrono::seconds(1) : Micros(1));
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
std::optional<int64_t> DayOf(std::string_view text, const ConnectColumnType& shape) {
  if (!IsInfinite(text) || shape.is_array) {
    return ParseDate(text);
  }
  if (text == kMinusInfinityText) {
    return kMinusInfiniteDay;
  }
  return shape.version == DebeziumVersion::k3_6 ? kInfiniteDay36 : kInfiniteDay;
}

absl::StatusOr<Datum> DateDatum(std::string_view text, const ConnectColumnType& shape,
                                Arena& arena) {
  const auto day = DayOf(text, shape);
  if (!day) {
    return NotShown(text, "date");
  }
  return shape.form == ColumnForm::kDate ? Datum{*day} : Datum{Keep(IsoDate(*day) + "Z", arena)};
}

// The driver reads an infinite default as java.time's first or last date, which does not fit into
// the numbers: they wrap around as in Java, or there is no default.
absl::StatusOr<Datum> InfiniteDefault(std::string_view text, ColumnForm form) {
  const bool last = text == kInfinityText;
  switch (form) {
    case ColumnForm::kDate:
      return Datum{int64_t{last ? 169'560'311 : -170'999'002}};
    case ColumnForm::kDateText:
      return Datum{std::string_view(last ? "+999999999-12-31Z" : "-999999999-01-01Z")};
    case ColumnForm::kTimestampMicros:
      return Datum{Limits::min() + (last ? 999'998 : 0)};
    case ColumnForm::kTimestampText:
      return Datum{std::string_view(last ? "+999999999-12-31T23:59:59.999999999Z"
                                         : "-999999999-01-01T00:00:00Z")};
    default:
      return NotShown(text, "default");
  }
}

// 24:00:00 is java.time's last time of a day.
Datum EndOfDayDefault(ColumnForm form) {
  constexpr int64_t kLastNano = 86'399'999'999'999;
  switch (form) {
    case ColumnForm::kTimeMillis:
      return {kLastNano / 1'000'000};
    case ColumnForm::kTimeMicros:
      return {kLastNano / 1'000};
    case ColumnForm::kTimeNanos:
      return {kLastNano};
    default:
      return {std::string_view("23:59:59.999999999Z")};
  }
}

}  // namespace

bool IsInfinite(std::string_view text) {
  return text == kInfinityText || text == kMinusInfinityText;
}

// The value is row data: it is escaped, and cut to what identifies it.
absl::Status NotShown(std::string_view text, std::string_view what) {
  return Error(
      ErrorCode::kValueInvalid,
      fmt::format("\"{}\" is not a valid {} for a Connect format", Printable(text, 40), what));
}

absl::StatusOr<Datum> NullOr(std::string_view text, std::string_view what,
                             const ConnectColumnType& shape) {
  return shape.schema->optional && !shape.is_array ? absl::StatusOr<Datum>(Datum{Null()})
                                                   : NotShown(text, what);
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
    case ColumnForm::kTimeWithZone:
      return TimeWithZone(text, shape, arena);
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

absl::StatusOr<Datum> TemporalDefault(std::string_view text, const ConnectColumnType& shape,
                                      Arena& arena) {
  if (IsInfinite(text)) {
    return InfiniteDefault(text, shape.form);
  }
  return shape.type_oid == pgoutput::kTimeOid && text == "24:00:00"
             ? EndOfDayDefault(shape.form)
             : TemporalDatum(text, shape, arena);
}

}  // namespace walrelay
