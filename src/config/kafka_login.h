// The constraints between the keys of a login to Kafka.
//
// Pure.
#pragma once

#include "absl/status/status.h"

namespace walrelay {

struct KafkaConfig;

// A login with tokens has exactly one source of them, and everything that the source needs; no key
// of another login is set. Part of ValidateConfig(). Errors: WR-1003, which names the key.
absl::Status ValidateKafkaLogin(const KafkaConfig& kafka);

}  // namespace walrelay
