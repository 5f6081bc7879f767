// The default of a column as Debezium interprets it.
//
// A literal is used as it is; a function call becomes a placeholder of the column's type (a nil
// UUID, 1970, an empty text); other expressions have no default.
//
// Source: io.debezium.connector.postgresql.connection.PostgresDefaultValueConverter.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "encode/connect_column_type.h"

namespace walrelay {

// The default's text, as Postgres would print the value. nullopt: no default in the schema.
// Pure. nullopt also for types whose defaults Debezium ignores, such as arrays, bytea and inet.
// REQUIRES: shape.schema is set.
std::optional<std::string> DefaultText(std::string_view expression, const ConnectColumnType& shape);

}  // namespace walrelay
