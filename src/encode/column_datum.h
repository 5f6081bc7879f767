// Converts a column's value, as sent by Postgres, to the value that Debezium produces for it.
//
// The session runs with DateStyle = ISO, TimeZone = UTC and bytea_output = hex, as for
// column_value.h. Results point into the value and into the arena. Pure functions.
#pragma once

#include <string_view>

#include "absl/status/statusor.h"
#include "base/arena.h"
#include "encode/connect_column_type.h"
#include "pgoutput/message.h"

namespace walrelay {

// NULL yields Null, whatever the column's default: the default belongs to the schema, see
// OrDefault(). Errors: WR-3007 for a value that Debezium cannot represent either (NaN in a numeric
// array, an array of several dimensions), WR-3002 for a type that is not supported in binary form.
absl::StatusOr<Datum> ColumnDatum(const pgoutput::TupleValue& value, const ConnectColumnType& shape,
                                  Arena& arena);

// The same for a text as printed by Postgres.
absl::StatusOr<Datum> DatumOfText(std::string_view text, const ConnectColumnType& shape,
                                  Arena& arena);

}  // namespace walrelay
