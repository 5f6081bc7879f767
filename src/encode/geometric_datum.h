// Geometric types as Debezium represents them: as structs of coordinates, or of the geometry in
// well-known binary (WKB), little endian.
//
// For column_datum.h, whose rules apply. Pure functions.
//
// Source: io.debezium.data.geometry and io.debezium.spatial.WkbWriter, Debezium 3.7.
#pragma once

#include <string_view>

#include "absl/status/statusor.h"
#include "base/arena.h"
#include "encode/connect_column_type.h"

namespace walrelay {

// All but the point are optional, even in a column that is NOT NULL.
// REQUIRES: a geometric form.
Schema GeometricSchema(ColumnForm form);

// Errors: WR-3007 for a text that Postgres does not print for such a type.
// REQUIRES: a geometric form.
absl::StatusOr<Datum> GeometricDatum(std::string_view text, ColumnForm form, Arena& arena);

}  // namespace walrelay
