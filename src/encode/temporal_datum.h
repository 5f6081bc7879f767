// Dates, times of day and timestamps, as printed by Postgres, as the values that Debezium produces.
//
// For column_datum.h, whose rules apply. Pure functions.
#pragma once

#include <string_view>

#include "absl/status/statusor.h"
#include "base/arena.h"
#include "encode/connect_column_type.h"

namespace walrelay {

// For a text of which a Connect format cannot show the value: WR-3007. `what` is the expected type.
absl::Status NotShown(std::string_view text, std::string_view what);

// For a text without a value in Debezium: NULL where the column allows it, as there; else WR-3007.
absl::StatusOr<Datum> NullOr(std::string_view text, std::string_view what,
                             const ConnectColumnType& shape);

// "infinity" or "-infinity".
bool IsInfinite(std::string_view text);

// A copy in the arena: a datum holds only views.
std::string_view Keep(std::string_view text, Arena& arena);

// Infinite dates and timestamps have values, which depend on the version of Debezium. A timestamp
// beyond the range of nanoseconds is NULL, as in Debezium. Errors: WR-3007, also for a timestamp
// whose microseconds overflow.
// REQUIRES: the shape's form is one of dates, times and timestamps.
absl::StatusOr<Datum> TemporalDatum(std::string_view text, const ConnectColumnType& shape,
                                    Arena& arena);

// The same for the default of a column, where infinite values and 24:00:00 have other values.
absl::StatusOr<Datum> TemporalDefault(std::string_view text, const ConnectColumnType& shape,
                                      Arena& arena);

}  // namespace walrelay
