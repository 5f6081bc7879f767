// What is known to be wrong with a version of librdkafka: for `walrelay doctor`. Pure.
#pragma once

#include <string_view>
#include <vector>

#include "walrelay/config.h"

namespace walrelay {

struct KnownDefect {
  std::string_view effect;    // a sentence without its end
  std::string_view fixed_in;  // "2.3.0"
};

// `version` as rd_kafka_version() has it. Only what can be met with this configuration.
std::vector<KnownDefect> KnownDefectsOf(int version, const KafkaConfig& kafka);

}  // namespace walrelay
