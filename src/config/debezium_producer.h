// From the properties of a Kafka producer in Java to walrelay's [kafka], and librdkafka's.
#pragma once

#include <optional>
#include <string_view>

#include "config/debezium_file.h"
#include "config/debezium_translation.h"

namespace walrelay {

// `name` without "producer.override."; `producer` holds them all under such names, for some depend
// on others. nullopt: not a producer's property that is known.
std::optional<Fate> TranslateProducerOption(std::string_view name, const DebeziumProperty& property,
                                            const DebeziumOptions& producer,
                                            DebeziumTranslation& out);

// What follows from all of them together.
void FinishProducer(DebeziumTranslation& out);

}  // namespace walrelay
