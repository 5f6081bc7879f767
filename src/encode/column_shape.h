// ColumnShape: how Debezium shows a column, by its type in Postgres.
//
// With its defaults: time.precision.mode=adaptive, decimal.handling.mode=precise,
// binary.handling.mode=bytes. The schema is what a consumer with schemas sees; the form says how
// the column's text is read (column_datum.h).
//
// Source: io.debezium.connector.postgresql.PostgresValueConverter.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "encode/schema.h"

namespace walrelay {

enum class ColumnForm : uint8_t {
  kText,
  kBoolean,
  kInteger,
  kFloat32,
  kFloat64,
  kDecimal,          // of a declared scale
  kVariableDecimal,  // NUMERIC as it comes: a struct of scale and value
  kBytes,
  kDate,        // days since 1970
  kTimeMillis,  // of the day
  kTimeMicros,
  kTimeWithZone,     // text, in UTC
  kTimestampMillis,  // since 1970
  kTimestampMicros,
  kTimestampWithZone,  // text, in UTC
};

struct ColumnShape {
  ColumnForm form = ColumnForm::kText;
  uint32_t type_oid = 0;  // of an array: its elements'
  bool is_array = false;
  int fraction_digits = 6;  // of kTimestampWithZone
  SchemaPtr schema;         // of an array: the array's
};

// What is known of a column: from the stream, and from the catalog what the stream does not say.
struct ColumnTraits {
  uint32_t type_oid = 0;
  int32_t type_modifier = -1;
  bool nullable = true;
  std::string default_expression;        // as pg_get_expr() prints it; "": none
  std::vector<std::string> enum_labels;  // in their order; empty: no enum
};

// Errors: WR-3002 for a type that Debezium has a form for which is not reproduced here.
absl::StatusOr<ColumnShape> ShapeOf(const ColumnTraits& column);

}  // namespace walrelay
