// Debezium's properties that mask or truncate columns: column.mask.with.N.chars, column.mask.hash.*
// and column.truncate.to.N.chars. Their values are Java expressions for "schema.table.column".
//
// walrelay publishes columns unchanged, so a property that matches a published column is refused.
// One that matches other columns has no effect on events.
//
// Source: io.debezium.relational.mapping.ColumnMappers.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "debezium/debezium_translation.h"

namespace walrelay {

// nullopt: not such a property. REQUIRES: the router's options are in `translation`; `connector`
// holds all properties.
std::optional<PropertyResult> TranslateColumnMapper(std::string_view name, const std::string& value,
                                                    const DebeziumOptions& connector,
                                                    const DebeziumTranslation& translation);

}  // namespace walrelay
