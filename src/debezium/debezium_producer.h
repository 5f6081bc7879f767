// Translates properties of a Java Kafka producer to [kafka] and [kafka.librdkafka].
//
// librdkafka's names are those of the C client; some of them mean something else than the Java
// producer's.
#pragma once

#include <optional>
#include <string_view>

#include "debezium/debezium_file.h"
#include "debezium/debezium_translation.h"

namespace walrelay {

// `name` without "producer.override."; `producer` holds all properties under such names, because
// some depend on others. nullopt: not a known producer property.
std::optional<PropertyResult> TranslateProducerOption(std::string_view name,
                                                      const DebeziumProperty& property,
                                                      const DebeziumOptions& producer,
                                                      DebeziumTranslation& out);

// Adds the settings that follow from all properties together.
void FinishSink(DebeziumTranslation& out);

}  // namespace walrelay
