// Dates, times and intervals as structs of their parts: Debezium's time.precision.mode =
// structured.
//
// For column_datum.h, whose rules apply. Pure functions.
//
// Source: io.debezium.time.StructuredTemporal and its relatives, Debezium 3.7.
#pragma once

#include <string_view>

#include "absl/status/statusor.h"
#include "encode/connect_column_type.h"

namespace walrelay {

// The struct of one of the structured forms; all its members are optional.
// REQUIRES: a structured form.
Schema StructuredSchema(ColumnForm form);

// Infinite values have only a member that says so. Errors: WR-3007, also for 24:00:00 in a column
// that is NOT NULL, because Debezium has no value for it.
// REQUIRES: the shape's form is a structured one.
absl::StatusOr<Datum> StructuredDatum(std::string_view text, const ConnectColumnType& shape);

}  // namespace walrelay
