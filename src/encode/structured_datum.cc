#include "encode/structured_datum.h"

#include <chrono>
#include <cmath>
#include <utility>

#include "encode/interval_text.h"
#include "encode/temporal_datum.h"
#include "encode/timestamp_text.h"

namespace walrelay {
namespace {

constexpr std::string_view kUtc = "Z";

SchemaField Member(std::string name, SchemaType type) {
  return {std::move(name), std::make_shared<const Schema>(Schema{.type = type, .optional = true})};
}

void Append(std::vector<SchemaField> members, std::vector<SchemaField>& out) {
  out.insert(out.end(), members.begin(), members.end());
}

std::vector<SchemaField> DateMembers() {
  return {Member("year", SchemaType::kInt32), Member("month", SchemaType::kInt8),
          Member("day", SchemaType::kInt8)};
}

std::vector<SchemaField> ClockMembers() {
  return {Member("hour", SchemaType::kInt8), Member("minute", SchemaType::kInt8),
          Member("second", SchemaType::kInt8), Member("nanos", SchemaType::kInt32)};
}

std::vector<SchemaField> IntervalMembers() {
  return {Member("years", SchemaType::kInt32),   Member("months", SchemaType::kInt32),
          Member("days", SchemaType::kInt32),    Member("hours", SchemaType::kInt32),
          Member("minutes", SchemaType::kInt32), Member("seconds", SchemaType::kInt64),
          Member("nanos", SchemaType::kInt32)};
}

std::string_view NameOf(ColumnForm form) {
  switch (form) {
    case ColumnForm::kStructuredDate:
      return "io.debezium.time.StructuredDate";
    case ColumnForm::kStructuredTime:
      return "io.debezium.time.StructuredTime";
    case ColumnForm::kStructuredTimeWithZone:
      return "io.debezium.time.StructuredZonedTime";
    case ColumnForm::kStructuredTimestamp:
      return "io.debezium.time.StructuredTimestamp";
    case ColumnForm::kStructuredTimestampWithZone:
      return "io.debezium.time.StructuredZonedTimestamp";
    default:
      return "io.debezium.time.StructuredDuration";
  }
}

bool HasDate(ColumnForm form) {
  return form == ColumnForm::kStructuredDate || form == ColumnForm::kStructuredTimestamp ||
         form == ColumnForm::kStructuredTimestampWithZone;
}

bool HasZone(ColumnForm form) {
  return form == ColumnForm::kStructuredTimeWithZone ||
         form == ColumnForm::kStructuredTimestampWithZone;
}

Datum IntegerDatum(int64_t number) {
  return Datum{number};
}

void AppendDate(int64_t days, DatumList& out) {
  const CivilDate date = CivilOf(days);
  out.push_back(IntegerDatum(date.year));
  out.push_back(IntegerDatum(date.month));
  out.push_back(IntegerDatum(date.day));
}

// The hour of a whole day is 24.
void AppendClock(std::chrono::seconds of_day, int64_t micros, DatumList& out) {
  const std::chrono::hh_mm_ss clock(of_day);
  out.push_back(IntegerDatum(clock.hours().count()));
  out.push_back(IntegerDatum(clock.minutes().count()));
  out.push_back(IntegerDatum(clock.seconds().count()));
  out.push_back(IntegerDatum(micros * 1000));
}

// Members that are neither the special value nor the precision are null.
Datum Infinite(std::string_view text, const ConnectColumnType& shape) {
  const Schema schema = StructuredSchema(shape.form);
  DatumList out;
  for (const SchemaField& member : schema.fields) {
    if (member.name == "specialValue") {
      out.push_back({text.starts_with('-') ? std::string_view("NEGATIVE_INFINITY")
                                           : std::string_view("POSITIVE_INFINITY")});
    } else {
      out.push_back(member.name == "precision" ? IntegerDatum(shape.precision) : Datum{Null()});
    }
  }
  return Datum{std::move(out)};
}

absl::StatusOr<Datum> DateParts(std::string_view text) {
  const auto day = ParseDate(text);
  if (!day) {
    return NotShown(text, "date");
  }
  DatumList out;
  AppendDate(*day, out);
  out.push_back({Null()});
  return Datum{std::move(out)};
}

absl::StatusOr<Datum> TimestampParts(std::string_view text, const ConnectColumnType& shape) {
  const auto instant = ParseInstant(text);
  if (!instant) {
    return NotShown(text, "timestamp");
  }
  const std::chrono::sys_seconds time{std::chrono::seconds(instant->seconds)};
  const auto day = std::chrono::floor<std::chrono::days>(time);
  DatumList out;
  AppendDate(day.time_since_epoch().count(), out);
  AppendClock(time - day, instant->micros, out);
  if (HasZone(shape.form)) {
    out.push_back(IntegerDatum(0));
    out.push_back({kUtc});
  }
  out.push_back({Null()});
  out.push_back(IntegerDatum(shape.precision));
  return Datum{std::move(out)};
}

// A time with a zone keeps its offset, and may be 24:00:00. Without a zone, Debezium has no value
// for 24:00:00, and in an array the JDBC driver makes it the beginning of the day.
absl::StatusOr<Datum> TimeParts(std::string_view text, const ConnectColumnType& shape) {
  auto time = ParseClock(text);
  if (!time) {
    return NotShown(text, "time");
  }
  if (!HasZone(shape.form) && time->of_day == std::chrono::hours(24)) {
    if (!shape.is_array) {
      return NullOr(text, "time", shape);
    }
    time->of_day = Micros(0);
  }
  const auto seconds = std::chrono::floor<std::chrono::seconds>(time->of_day);
  DatumList out;
  AppendClock(seconds, (time->of_day - seconds).count(), out);
  if (HasZone(shape.form)) {
    out.push_back(IntegerDatum(time->offset.count()));
  }
  out.push_back(IntegerDatum(shape.precision));
  return Datum{std::move(out)};
}

absl::StatusOr<Datum> IntervalParts(std::string_view text, const ConnectColumnType& shape) {
  const auto interval = ParseInterval(text);
  if (!interval) {
    return NotShown(text, "interval");
  }
  const int64_t micros = std::llround(interval->seconds * 1e6);
  DatumList out;
  for (const int32_t part :
       {interval->years, interval->months, interval->days, interval->hours, interval->minutes}) {
    out.push_back(IntegerDatum(part));
  }
  out.push_back(IntegerDatum(micros / 1'000'000));
  out.push_back(IntegerDatum(micros % 1'000'000 * 1000));
  out.push_back(IntegerDatum(shape.precision));
  return Datum{std::move(out)};
}

}  // namespace

Schema StructuredSchema(ColumnForm form) {
  Schema schema = NamedSchema(SchemaType::kStruct, std::string(NameOf(form)));
  if (form == ColumnForm::kStructuredInterval) {
    Append(IntervalMembers(), schema.fields);
  }
  if (HasDate(form)) {
    Append(DateMembers(), schema.fields);
  }
  if (form != ColumnForm::kStructuredInterval && form != ColumnForm::kStructuredDate) {
    Append(ClockMembers(), schema.fields);
  }
  if (HasZone(form)) {
    schema.fields.push_back(Member("offsetSeconds", SchemaType::kInt32));
  }
  if (form == ColumnForm::kStructuredTimestampWithZone) {
    schema.fields.push_back(Member("zoneId", SchemaType::kString));
  }
  if (HasDate(form)) {
    schema.fields.push_back(Member("specialValue", SchemaType::kString));
  }
  if (form != ColumnForm::kStructuredDate) {
    schema.fields.push_back(Member("precision", SchemaType::kInt32));
  }
  return schema;
}

absl::StatusOr<Datum> StructuredDatum(std::string_view text, const ConnectColumnType& shape) {
  if (HasDate(shape.form) && IsInfinite(text)) {
    return Infinite(text, shape);
  }
  switch (shape.form) {
    case ColumnForm::kStructuredDate:
      return DateParts(text);
    case ColumnForm::kStructuredTime:
    case ColumnForm::kStructuredTimeWithZone:
      return TimeParts(text, shape);
    case ColumnForm::kStructuredInterval:
      return IntervalParts(text, shape);
    default:
      return TimestampParts(text, shape);
  }
}

}  // namespace walrelay
