// Debezium's properties that truncate, mask or hash columns: column.truncate.to.N.chars,
// column.mask.with.N.chars, column.mask.hash.ALGORITHM.with.salt.SALT and the same with "v2.".
// Their values are Java expressions for "schema.table.column".
//
// A property becomes transforms of the published columns that it matches. One that matches other
// columns has no effect on events.
//
// Source: io.debezium.relational.mapping.ColumnMappers.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "debezium/debezium_translation.h"

namespace walrelay {

// nullopt: not such a property. REQUIRES: the router's options and the selected tables are in
// `translation`; `connector` holds all properties: the first of several that match a column
// applies.
std::optional<PropertyResult> TranslateColumnMapper(std::string_view name, const std::string& value,
                                                    const DebeziumOptions& connector,
                                                    DebeziumTranslation& translation);

// The property's name for reports and errors: a salt is a part of the name.
std::string WithoutSalt(std::string_view name);

}  // namespace walrelay
