// Translates a Debezium Postgres connector's own properties to [source]: the connection, slot,
// publication and tables; and reports properties without a counterpart.
//
// Source: io.debezium.connector.postgresql.PostgresConnectorConfig, Debezium 3.7, and older names
// that are still in use.
#pragma once

#include <optional>

#include "debezium/debezium_file.h"
#include "debezium/debezium_translation.h"

namespace walrelay {

// nullopt: not a property of the connector, of Connect or of Debezium Server.
std::optional<PropertyResult> TranslateSourceOption(const DebeziumProperty& property,
                                                    DebeziumTranslation& out);

// Adds the settings that follow from all properties together: the connection string, and Debezium's
// default names of slot and publication.
void FinishSource(const DebeziumOptions& connector, DebeziumTranslation& out);

}  // namespace walrelay
