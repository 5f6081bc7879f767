// The default of a column as Debezium interprets it.
//
// A literal is used as it is; a function call becomes a placeholder of the column's type (a nil
// UUID, 1970, an empty text). Another expression is a text itself in a column of a text type, and
// elsewhere no default.
//
// Source: io.debezium.connector.postgresql.connection.PostgresDefaultValueConverter.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "base/arena.h"
#include "encode/connect_column_type.h"

namespace walrelay {

// The default's text, as Postgres would print the value. nullopt: no default in the schema.
// Pure. nullopt also for types whose defaults Debezium ignores, such as arrays, bytea and inet.
// REQUIRES: shape.schema is set.
std::optional<std::string> DefaultText(std::string_view expression, const ConnectColumnType& shape);

// The value of that text. Error: WR-3007 if it has none, which means no default either.
absl::StatusOr<Datum> DefaultDatum(std::string_view text, const ConnectColumnType& shape,
                                   Arena& arena);

}  // namespace walrelay
