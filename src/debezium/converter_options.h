// Translates the options of Connect's converters, which decide the bytes of a key, a value and the
// headers.
//
// Source: JsonConverterConfig, StringConverterConfig and SimpleHeaderConverter of Kafka Connect;
// io.debezium.converters, Debezium 3.7.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "debezium/debezium_translation.h"

namespace walrelay {

// A property whose name begins with "key.converter", "value.converter" or "header.converter";
// nullopt for all others. `connector` holds all properties, because an option depends on the class
// of its converter.
std::optional<PropertyResult> TranslateConverterOption(std::string_view name,
                                                       const std::string& value,
                                                       const DebeziumOptions& connector,
                                                       DebeziumTranslation& out);

}  // namespace walrelay
