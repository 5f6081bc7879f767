// The default of a column as Debezium understands it.
//
// A literal is itself; a call of a function becomes a placeholder of the type's (a nil UUID, 1970,
// an empty text); arithmetic gives none.
//
// Source: io.debezium.connector.postgresql.connection.PostgresDefaultValueConverter.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "encode/column_shape.h"

namespace walrelay {

// The default's text, as Postgres would print the value. nullopt: no default in the schema.
std::optional<std::string> DefaultText(std::string_view expression, const ColumnShape& shape);

}  // namespace walrelay
