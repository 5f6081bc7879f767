// ConnectColumnType: how Debezium represents a column, by its Postgres type.
//
// The modes are Debezium's (TypeModes). The schema is what a consumer with schemas receives; the
// form determines how the column's text is parsed (column_datum.h).
//
// Source: io.debezium.connector.postgresql.PostgresValueConverter, io.debezium.jdbc.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "encode/schema.h"
#include "walrelay/config/format.h"

namespace walrelay {

// How the text of a value is parsed. The comments give the unit of the result.
enum class ColumnForm : uint8_t {
  kText,
  kBoolean,
  kInteger,
  kFloat32,
  kFloat64,
  kDecimal,          // of a declared scale
  kVariableDecimal,  // NUMERIC without a declared scale: a struct of scale and value
  kDecimalDouble,
  kDecimalText,
  kBytes,
  kBase64,
  kBase64UrlSafe,
  kHex,
  kDate,        // days since 1970
  kDateText,    // ISO 8601 in UTC, as all texts below
  kTimeMillis,  // since midnight
  kTimeMicros,
  kTimeNanos,
  kTimeText,
  kTimeWithZone,     // text
  kTimestampMillis,  // since 1970
  kTimestampMicros,
  kTimestampNanos,
  kTimestampText,
  kTimestampWithZone,  // text with the declared number of digits
  kIntervalMicros,
  kIntervalText,
  kBit,   // boolean
  kBits,  // little endian, without zero bytes at the end
  kHstoreText,
  kHstoreMap,
  kStructuredDate,  // structs of year, month and so on
  kStructuredTime,
  kStructuredTimeWithZone,
  kStructuredTimestamp,
  kStructuredTimestampWithZone,
  kStructuredInterval,
  kPoint,  // structs of coordinates or of the geometry in well-known binary
  kLineSegment,
  kPath,
  kBox,
  kPolygon,
  kLine,
  kCircle,
};

// A column's schema and form. Immutable, and shared by all rows of a table description.
struct ConnectColumnType {
  ColumnForm form = ColumnForm::kText;
  uint32_t type_oid = 0;  // of an array: the type of its elements
  bool is_array = false;
  bool is_opaque = false;   // bytes of the text itself, whatever it means
  int fraction_digits = 6;  // of kTimestampWithZone
  int scale = -1;           // declared by NUMERIC; -1: none
  int precision = 6;        // of the structured forms: fraction digits as Debezium reports them
  DebeziumVersion version = DebeziumVersion::k3_7;
  SchemaPtr schema;  // of an array: the schema of the array
};

// The known properties of a column: from the stream, and from the catalog those that the stream
// does not contain.
struct ColumnTraits {
  uint32_t type_oid = 0;
  int32_t type_modifier = -1;
  bool nullable = true;
  std::string default_expression;        // as printed by pg_get_expr(); "": none
  std::vector<std::string> enum_labels;  // in declaration order; empty: not an enum
  std::string type_name;                 // in pg_type; "": unknown, or an array
};

// Errors: WR-3002 for a type that walrelay cannot write as Debezium does.
absl::StatusOr<ConnectColumnType> ShapeOf(const ColumnTraits& column, const TypeModes& modes = {});

}  // namespace walrelay
