// From a column's value as Postgres sent it to the value that Debezium makes of it.
//
// The session runs with DateStyle = ISO, TimeZone = UTC and bytea_output = hex, as for
// column_value.h. Results point into the value and into the arena. Pure functions.
#pragma once

#include <string_view>

#include "absl/status/statusor.h"
#include "base/arena.h"
#include "encode/column_shape.h"
#include "pgoutput/message.h"

namespace walrelay {

// A NULL is Null, whatever the column's default: the default is the schema's, see OrDefault().
// Errors: WR-3007 for what Debezium cannot show either (an infinite date, an array of several
// dimensions), WR-3002 for a type that cannot be taken in binary form.
absl::StatusOr<Datum> ColumnDatum(const pgoutput::TupleValue& value, const ColumnShape& shape,
                                  Arena& arena);

// The same of a text as Postgres prints it.
absl::StatusOr<Datum> DatumOfText(std::string_view text, const ColumnShape& shape, Arena& arena);

}  // namespace walrelay
