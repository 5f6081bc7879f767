// Whether topics come into being by themselves, and with what: for `walrelay doctor`.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "walrelay/config.h"

namespace walrelay {

struct TopicCreation {
  // auto.create.topics.enable and default.replication.factor; absent where the user may not read
  // the brokers' settings (DESCRIBE_CONFIGS on the cluster).
  std::optional<bool> on_demand;
  std::optional<int64_t> replicas;
  // What making the topic would end with, "" when it would be made; absent without an answer.
  std::optional<std::string> refusal;
  bool denied = false;  // the refusal is one of rights
};

// Asks the brokers, the last by a request that only validates: nothing is made. Blocks, for three
// times `timeout` at most. Errors: WR-4001, WR-4007, WR-4006.
absl::StatusOr<TopicCreation> AskAboutCreation(const KafkaConfig& kafka, const std::string& topic,
                                               Micros timeout);

}  // namespace walrelay
