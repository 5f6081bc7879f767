#include "encode/column_datum.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <limits>

#include "absl/strings/escaping.h"
#include "base/text.h"
#include "encode/array_text.h"
#include "encode/column_value.h"
#include "encode/java_number.h"
#include "encode/timestamp_text.h"
#include "pgoutput/type_oids.h"
#include "walrelay/error.h"

namespace walrelay {
namespace {

using pgoutput::TupleValue;

// The values that Debezium uses for infinite timestamps. They are the JDBC driver's
// PGStatement.DATE_POSITIVE_INFINITY and DATE_NEGATIVE_INFINITY.
constexpr int64_t kInfinityMicros = 9'223'372'036'825'200'000;
constexpr int64_t kMinusInfinityMicros = -9'223'372'036'832'400'000;

// The value is row data: it is escaped, and cut to what identifies it.
absl::Status NotShown(std::string_view text, std::string_view what) {
  return Error(
      ErrorCode::kValueInvalid,
      fmt::format("\"{}\" is not a valid {} for a Connect format", Printable(text, 40), what));
}

// For texts that are made here: a datum holds only views.
std::string_view Keep(std::string_view text, Arena& arena) {
  char* const out = arena.Allocate(text.size());
  text.copy(out, text.size());
  return {out, text.size()};
}

absl::StatusOr<Datum> Integer(std::string_view text) {
  int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) {
    return NotShown(text, "integer");
  }
  return Datum{number};
}

// from_chars() is independent of the locale, and accepts no leading space or plus sign.
template <typename Float>
absl::StatusOr<Datum> FloatingPoint(std::string_view text) {
  constexpr Float kInfinity = std::numeric_limits<Float>::infinity();
  if (text == "NaN") {
    return Datum{std::numeric_limits<Float>::quiet_NaN()};
  }
  if (text == "Infinity" || text == "-Infinity") {
    return Datum{text[0] == '-' ? -kInfinity : kInfinity};
  }
  // Text that is out of range is rejected: Postgres prints no number that the type cannot hold.
  Float number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) {
    return NotShown(text, "floating-point number");
  }
  return Datum{number};
}

// For NaN and the infinities Debezium produces NULL, and fails if the column is NOT NULL.
absl::StatusOr<Datum> NoDecimal(std::string_view text, const ConnectColumnType& shape) {
  const bool special = text == "NaN" || text == "Infinity" || text == "-Infinity";
  if (special && shape.schema->optional && !shape.is_array) {
    return Datum{Null()};
  }
  return NotShown(text, "numeric");
}

absl::StatusOr<Datum> DeclaredDecimal(std::string_view text, const ConnectColumnType& shape,
                                      Arena& arena) {
  if (!IsDecimal(text)) {
    return NoDecimal(text, shape);
  }
  // Postgres prints all digits of the scale; a default may have been written with fewer.
  const size_t point = text.find('.');
  const size_t has = point == std::string_view::npos ? 0 : text.size() - point - 1;
  // For an array the scale is a parameter of the elements' schema.
  const std::string& declared = shape.schema->parameters.empty()
                                    ? shape.schema->items->parameters.front().second
                                    : shape.schema->parameters.front().second;
  size_t wanted = 0;
  std::from_chars(declared.data(), declared.data() + declared.size(), wanted);
  // Dropping digits would change the number.
  if (has > wanted) {
    return NotShown(text, "numeric of the declared scale");
  }
  if (has == wanted) {
    return Datum{Decimal{text}};
  }
  std::string padded(text);
  padded += point == std::string_view::npos ? "." : "";
  padded.append(wanted - has, '0');
  return Datum{Decimal{Keep(padded, arena)}};
}

// A struct of scale and value, without trailing zeros in the fraction.
absl::StatusOr<Datum> VariableDecimal(std::string_view text, const ConnectColumnType& shape,
                                      Arena& arena) {
  if (!IsDecimal(text)) {
    return NoDecimal(text, shape);
  }
  const size_t point = text.find('.');
  int64_t scale = 0;
  // Zeros of the integer part count: only a text with a point loses trailing zeros.
  if (point != std::string_view::npos) {
    text = text.substr(0, text.find_last_not_of('0') + 1);
    scale = static_cast<int64_t>(text.size() - point - 1);
  }
  return Datum{DatumList{Datum{scale}, Datum{Bytes{Keep(UnscaledBytes(text), arena)}}}};
}

absl::StatusOr<Datum> TimestampNumber(std::string_view text, bool millis) {
  if (text == "infinity" || text == "-infinity") {
    const int64_t micros = text[0] == '-' ? kMinusInfinityMicros : kInfinityMicros;
    return Datum{millis ? micros / 1000 : micros};
  }
  // Years beyond the range of int64 microseconds exist in Postgres (up to 294276).
  const auto instant = ParseInstant(text);
  constexpr int64_t kLastSecond = std::numeric_limits<int64_t>::max() / 1'000'000 - 1;
  if (!instant || instant->seconds > kLastSecond) {
    return NotShown(text, "timestamp");
  }
  return Datum{millis ? instant->seconds * 1000 + instant->micros / 1000
                      : instant->seconds * 1'000'000 + instant->micros};
}

absl::StatusOr<Datum> TimestampText(std::string_view text, int digits, Arena& arena) {
  if (text == "infinity" || text == "-infinity") {
    return Datum{text};
  }
  const auto instant = ParseInstant(text);
  if (!instant) {
    return NotShown(text, "timestamp");
  }
  return Datum{Keep(IsoTimestamp(*instant, digits), arena)};
}

// ISO 8601 in UTC, with as few digits as possible.
absl::StatusOr<Datum> TimeText(std::string_view text, Arena& arena) {
  constexpr Micros kDay = std::chrono::hours(24);
  const auto time = ParseTimeOfDay(text);
  // "24:00:00" is valid in Postgres, and Debezium's OffsetTime cannot represent it.
  if (!time || text.starts_with("24:")) {
    return NotShown(text, "time with time zone");
    // The zone may have moved the time to another day; only the time of day counts.
  }
  const Micros of_day = (*time % kDay + kDay) % kDay;
  const std::chrono::hh_mm_ss clock(of_day);
  std::string iso = fmt::format("{:02}:{:02}:{:02}", clock.hours().count(), clock.minutes().count(),
                                clock.seconds().count());
  if (clock.subseconds().count() != 0) {
    iso += fmt::format(".{:06}", clock.subseconds().count());
    iso.erase(iso.find_last_not_of('0') + 1);
  }
  return Datum{Keep(iso + "Z", arena)};
}

// Since midnight; "24:00:00" is a whole day.
absl::StatusOr<Datum> TimeNumber(std::string_view text, bool millis) {
  const auto time = ParseTimeOfDay(text);
  if (!time) {
    return NotShown(text, "time");
  }
  return Datum{static_cast<int64_t>(millis ? time->count() / 1000 : time->count())};
}

absl::StatusOr<Datum> Day(std::string_view text) {
  const auto days = ParseDate(text);
  if (!days) {
    return NotShown(text, "date");
  }
  return Datum{*days};
}

// boolout() prints exactly these letters.
absl::StatusOr<Datum> Boolean(std::string_view text) {
  if (text != "t" && text != "f") {
    return NotShown(text, "boolean");
  }
  return Datum{text == "t"};
}

absl::StatusOr<Datum> BytesOfHex(std::string_view text, Arena& arena) {
  WR_ASSIGN_OR_RETURN(const OptionalBytes bytes,
                      ColumnBytes({TupleValue::Kind::kText, text}, pgoutput::kByteaOid, arena));
  return Datum{Bytes{*bytes}};
}

// One value, or one element of an array: both have the same text.
absl::StatusOr<Datum> Scalar(std::string_view text, const ConnectColumnType& shape, Arena& arena) {
  switch (shape.form) {
    case ColumnForm::kText:
      return Datum{text};
    case ColumnForm::kBoolean:
      return Boolean(text);
    case ColumnForm::kInteger:
      return Integer(text);
    case ColumnForm::kFloat32:
      return FloatingPoint<float>(text);
    case ColumnForm::kFloat64:
      return FloatingPoint<double>(text);
    case ColumnForm::kDecimal:
      return DeclaredDecimal(text, shape, arena);
    case ColumnForm::kVariableDecimal:
      return VariableDecimal(text, shape, arena);
    case ColumnForm::kBytes:
      return BytesOfHex(text, arena);
    case ColumnForm::kDate:
      return Day(text);
    case ColumnForm::kTimeMillis:
    case ColumnForm::kTimeMicros:
      return TimeNumber(text, shape.form == ColumnForm::kTimeMillis);
    case ColumnForm::kTimeWithZone:
      return TimeText(text, arena);
    case ColumnForm::kTimestampMillis:
    case ColumnForm::kTimestampMicros:
      return TimestampNumber(text, shape.form == ColumnForm::kTimestampMillis);
    case ColumnForm::kTimestampWithZone:
      return TimestampText(text, shape.fraction_digits, arena);
  }
  return Datum{Null()};
}

}  // namespace

absl::StatusOr<Datum> DatumOfText(std::string_view text, const ConnectColumnType& shape,
                                  Arena& arena) {
  if (!shape.is_array) {
    return Scalar(text, shape, arena);
  }
  const auto elements = ParseArray(text, arena);
  if (!elements) {
    return NotShown(text, "array of one dimension");
  }
  DatumList list;
  // The number of elements is row data; each takes at least two bytes of the row, which is limited.
  list.reserve(elements->size());
  // Nested arrays were rejected by ParseArray(): Connect has arrays of arrays, Debezium does not
  // make them from Postgres.
  for (const auto& element : *elements) {
    if (!element) {
      list.push_back({Null()});
      continue;
    }
    WR_ASSIGN_OR_RETURN(Datum datum, Scalar(*element, shape, arena));
    list.push_back(std::move(datum));
  }
  return Datum{std::move(list)};
}

absl::StatusOr<Datum> ColumnDatum(const TupleValue& value, const ConnectColumnType& shape,
                                  Arena& arena) {
  if (value.is_null()) {
    return Datum{Null()};
  }
  // bytea in binary form is the value itself; all other binary forms have a text of the same
  // meaning.
  const bool binary_bytes = value.kind == TupleValue::Kind::kBinary && !shape.is_array &&
                            shape.form == ColumnForm::kBytes;
  if (binary_bytes) {
    return Datum{Bytes{value.bytes}};
  }
  if (value.kind == TupleValue::Kind::kText) {
    return DatumOfText(value.bytes, shape, arena);
  }
  // Binary form: convert it to its text first.
  WR_ASSIGN_OR_RETURN(const OptionalBytes text,
                      ColumnBytes(value, shape.is_array ? 0 : shape.type_oid, arena));
  return DatumOfText(*text, shape, arena);
}

}  // namespace walrelay
