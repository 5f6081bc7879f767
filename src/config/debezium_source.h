// From a Debezium Postgres connector's own properties to where walrelay reads: the connection, slot
// and publication, the tables; and what has no counterpart.
//
// Source: io.debezium.connector.postgresql.PostgresConnectorConfig, Debezium 3.6, and the older
// names that people still have.
#pragma once

#include <optional>

#include "config/debezium_file.h"
#include "config/debezium_translation.h"

namespace walrelay {

// nullopt: not a property of the connector, of Connect or of Debezium Server.
std::optional<Fate> TranslateSourceOption(const DebeziumProperty& property,
                                          DebeziumTranslation& out);

// What follows from all of them together: the connection string, Debezium's names for slot and
// publication where the file has none.
void FinishSource(const DebeziumOptions& connector, DebeziumTranslation& out);

}  // namespace walrelay
