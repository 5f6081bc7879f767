#include "encode/temporal_column_type.h"

#include <string>
#include <utility>

#include "encode/structured_datum.h"
#include "pgoutput/type_oids.h"

namespace walrelay {
namespace {

// A type with the name that Debezium or Connect gives it.
void Set(ColumnForm form, SchemaType type, std::string name, ConnectColumnType& out,
         Schema& schema) {
  out.form = form;
  schema = NamedSchema(type, std::move(name));
}

void SetStructured(ColumnForm form, ConnectColumnType& out, Schema& schema) {
  out.form = form;
  schema = StructuredSchema(form);
}

void SetDate(TimeMode mode, ConnectColumnType& out, Schema& schema) {
  switch (mode) {
    case TimeMode::kConnect:
      return Set(ColumnForm::kDate, SchemaType::kInt32, "org.apache.kafka.connect.data.Date", out,
                 schema);
    case TimeMode::kIsoString:
      return Set(ColumnForm::kDateText, SchemaType::kString, "io.debezium.time.IsoDate", out,
                 schema);
    case TimeMode::kStructured:
      return SetStructured(ColumnForm::kStructuredDate, out, schema);
    default:
      return Set(ColumnForm::kDate, SchemaType::kInt32, "io.debezium.time.Date", out, schema);
  }
}

// `millis`: the column declares up to three fraction digits, which only the adaptive modes
// consider.
void SetTime(TimeMode mode, bool millis, ConnectColumnType& out, Schema& schema) {
  switch (mode) {
    case TimeMode::kConnect:
      return Set(ColumnForm::kTimeMillis, SchemaType::kInt32, "org.apache.kafka.connect.data.Time",
                 out, schema);
    case TimeMode::kIsoString:
      return Set(ColumnForm::kTimeText, SchemaType::kString, "io.debezium.time.IsoTime", out,
                 schema);
    case TimeMode::kNanoseconds:
      return Set(ColumnForm::kTimeNanos, SchemaType::kInt64, "io.debezium.time.NanoTime", out,
                 schema);
    case TimeMode::kStructured:
      return SetStructured(ColumnForm::kStructuredTime, out, schema);
    case TimeMode::kAdaptive:
      if (millis) {
        return Set(ColumnForm::kTimeMillis, SchemaType::kInt32, "io.debezium.time.Time", out,
                   schema);
      }
      [[fallthrough]];
    case TimeMode::kAdaptiveTimeMicroseconds:
    case TimeMode::kMicroseconds:
      return Set(ColumnForm::kTimeMicros, SchemaType::kInt64, "io.debezium.time.MicroTime", out,
                 schema);
  }
}

void SetTimestamp(TimeMode mode, bool millis, ConnectColumnType& out, Schema& schema) {
  switch (mode) {
    case TimeMode::kConnect:
      return Set(ColumnForm::kTimestampMillis, SchemaType::kInt64,
                 "org.apache.kafka.connect.data.Timestamp", out, schema);
    case TimeMode::kIsoString:
      return Set(ColumnForm::kTimestampText, SchemaType::kString, "io.debezium.time.IsoTimestamp",
                 out, schema);
    case TimeMode::kNanoseconds:
      return Set(ColumnForm::kTimestampNanos, SchemaType::kInt64, "io.debezium.time.NanoTimestamp",
                 out, schema);
    case TimeMode::kStructured:
      return SetStructured(ColumnForm::kStructuredTimestamp, out, schema);
    case TimeMode::kAdaptive:
    case TimeMode::kAdaptiveTimeMicroseconds:
      if (millis) {
        return Set(ColumnForm::kTimestampMillis, SchemaType::kInt64, "io.debezium.time.Timestamp",
                   out, schema);
      }
      [[fallthrough]];
    case TimeMode::kMicroseconds:
      return Set(ColumnForm::kTimestampMicros, SchemaType::kInt64,
                 "io.debezium.time.MicroTimestamp", out, schema);
  }
}

// The precision of an interval without seconds is 65535, as in the modifier.
// From timestamp.c, intervaltypmodin(): the fields in the upper 16 bits, the precision in the
// lower.
int PrecisionOf(uint32_t type_oid, int32_t modifier) {
  if (modifier < 0) {
    return 6;
  }
  return type_oid == pgoutput::kIntervalOid ? modifier & 0xFFFF : modifier;
}

void SetInterval(const TypeModes& modes, ConnectColumnType& out, Schema& schema) {
  if (modes.time == TimeMode::kStructured) {
    return SetStructured(ColumnForm::kStructuredInterval, out, schema);
  }
  if (modes.interval == IntervalMode::kString) {
    return Set(ColumnForm::kIntervalText, SchemaType::kString, "io.debezium.time.Interval", out,
               schema);
  }
  Set(ColumnForm::kIntervalMicros, SchemaType::kInt64, "io.debezium.time.MicroDuration", out,
      schema);
}

// Only the mode "structured" concerns types with a time zone.
void SetTimeWithZone(TimeMode mode, ConnectColumnType& out, Schema& schema) {
  if (mode == TimeMode::kStructured) {
    return SetStructured(ColumnForm::kStructuredTimeWithZone, out, schema);
  }
  Set(ColumnForm::kTimeWithZone, SchemaType::kString, "io.debezium.time.ZonedTime", out, schema);
}

void SetTimestampWithZone(TimeMode mode, int32_t modifier, ConnectColumnType& out, Schema& schema) {
  if (mode == TimeMode::kStructured) {
    return SetStructured(ColumnForm::kStructuredTimestampWithZone, out, schema);
  }
  // Without a declared precision Postgres stores six digits.
  out.fraction_digits = modifier >= 0 && modifier <= 6 ? modifier : 6;
  Set(ColumnForm::kTimestampWithZone, SchemaType::kString, "io.debezium.time.ZonedTimestamp", out,
      schema);
}

}  // namespace

bool SetTemporalType(uint32_t type_oid, int32_t modifier, const TypeModes& modes,
                     ConnectColumnType& out, Schema& schema) {
  const bool millis = modifier >= 0 && modifier <= 3;
  out.precision = PrecisionOf(type_oid, modifier);
  switch (type_oid) {
    case pgoutput::kDateOid:
      SetDate(modes.time, out, schema);
      return true;
    case pgoutput::kTimeOid:
      SetTime(modes.time, millis, out, schema);
      return true;
    case pgoutput::kTimetzOid:
      SetTimeWithZone(modes.time, out, schema);
      return true;
    case pgoutput::kTimestampOid:
      SetTimestamp(modes.time, millis, out, schema);
      return true;
    case pgoutput::kTimestamptzOid:
      SetTimestampWithZone(modes.time, modifier, out, schema);
      return true;
    case pgoutput::kIntervalOid:
      SetInterval(modes, out, schema);
      return true;
    default:
      return false;
  }
}

}  // namespace walrelay
