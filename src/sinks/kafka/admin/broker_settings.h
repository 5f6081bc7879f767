// Broker settings that affect a producer: for `walrelay doctor`.
//
// Source: Kafka documentation, "Broker Configs"; the request is DescribeConfigs.
#pragma once

#include <cstdint>
#include <optional>

#include "absl/status/statusor.h"
#include "walrelay/clock.h"

namespace walrelay {

struct KafkaConfig;

// A value is absent if the user may not read the brokers' settings (DESCRIBE_CONFIGS on the
// cluster), or if the brokers do not have the setting.
struct BrokerSettings {
  std::optional<bool> creates_topics;          // auto.create.topics.enable
  std::optional<int64_t> default_replicas;     // default.replication.factor
  std::optional<Micros> producer_id_lifetime;  // producer.id.expiration.ms
  std::optional<Micros> max_transaction;       // transaction.max.timeout.ms
};

// Queries one broker. Blocks for at most twice `timeout`. Errors: WR-4001, WR-4007, WR-4006.
// WR-1005 if a secret file cannot be used. Values that the user may not read are absent, which is
// no error.
absl::StatusOr<BrokerSettings> ReadBrokerSettings(const KafkaConfig& kafka, Micros timeout);

}  // namespace walrelay
