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

// A copy in the arena: a datum holds only views.
std::string_view Keep(std::string_view text, Arena& arena);

// Infinite dates and timestamps have the values that the JDBC driver uses for them. A timestamp
// beyond the range of nanoseconds is NULL, as in Debezium. Errors: WR-3007, also for a timestamp
// whose microseconds overflow.
// REQUIRES: the shape's form is one of dates, times and timestamps.
absl::StatusOr<Datum> TemporalDatum(std::string_view text, const ConnectColumnType& shape,
                                    Arena& arena);

}  // namespace walrelay
