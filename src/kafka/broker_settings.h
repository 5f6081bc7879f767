// Settings of a cluster's brokers that matter to a producer: for `walrelay doctor`.
#pragma once

#include <cstdint>
#include <optional>

#include "absl/status/statusor.h"
#include "walrelay/config.h"

namespace walrelay {

// Absent where the user may not read the brokers' settings (DESCRIBE_CONFIGS on the cluster), or
// the brokers do not have them.
struct BrokerSettings {
  std::optional<bool> creates_topics;          // auto.create.topics.enable
  std::optional<int64_t> default_replicas;     // default.replication.factor
  std::optional<Micros> producer_id_lifetime;  // producer.id.expiration.ms
};

// Asks one broker. Blocks, for twice `timeout` at most. Errors: WR-4001, WR-4007, WR-4006.
absl::StatusOr<BrokerSettings> ReadBrokerSettings(const KafkaConfig& kafka, Micros timeout);

}  // namespace walrelay
