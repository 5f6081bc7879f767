// Known defects of librdkafka versions: for `walrelay doctor`. Pure.
#pragma once

#include <string_view>
#include <vector>

#include "walrelay/config.h"

namespace walrelay {

struct KnownDefect {
  // For the finding of `doctor`.
  std::string_view effect;    // a sentence without the final period
  std::string_view fixed_in;  // "2.3.0"
};

// `version` as returned by rd_kafka_version(). Returns only the defects that this configuration can
// encounter.
std::vector<KnownDefect> KnownDefectsOf(int version, const KafkaConfig& kafka);

}  // namespace walrelay
