// Known defects of librdkafka versions: for `walrelay doctor`, and those that a producer with
// transactions must not have. Pure.
#pragma once

#include <string_view>
#include <vector>

#include "absl/status/status.h"

namespace walrelay {

struct KafkaConfig;

struct KnownDefect {
  // For the finding of `doctor`.
  std::string_view effect;    // a sentence without the final period
  std::string_view fixed_in;  // "2.3.0"
};

// `version` as returned by rd_kafka_version(). Returns only the defects that this configuration can
// encounter.
std::vector<KnownDefect> KnownDefectsOf(int version, const KafkaConfig& kafka);

// Whether this version may be used for exactly-once delivery. WR-4019 for versions whose retries
// can break a batch, or that do not reconnect.
absl::Status CheckTransactionSupport(int version);

}  // namespace walrelay
