// The configuration of Debezium Server: application.properties, or environment variables.
//
// Debezium Server has Connect's options under other names; they are translated once, under
// Connect's.
#pragma once

#include <string>
#include <string_view>

#include "debezium/debezium_file.h"
#include "debezium/java_properties.h"

namespace walrelay {

// Whether these are Debezium Server's: a connector in Connect has no such prefix.
bool IsServerProperties(const JavaProperties& properties);

// `form`: for reports.
DebeziumFile FromServerProperties(const JavaProperties& properties, std::string form);

// Whether a line of `text` sets a variable DEBEZIUM_SOURCE_….
bool IsServerEnvironment(std::string_view text);

// The variables under the names of properties, as Debezium Server itself maps them:
// DEBEZIUM_SOURCE_SLOT_NAME is debezium.source.slot.name. Reads an env file of Docker or a shell:
// NAME=value, with or without export and quotes. Lines of another form are skipped.
JavaProperties ParseEnvironment(std::string_view text);

}  // namespace walrelay
