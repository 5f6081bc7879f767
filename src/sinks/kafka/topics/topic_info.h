// Information about a Kafka cluster's existing topics: for `walrelay doctor`.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "walrelay/clock.h"

namespace walrelay {

struct KafkaConfig;

// Partitions without a leader accept no record. With fewer in-sync replicas than
// min.insync.replicas, acks=all is refused.
struct TopicInfo {
  std::string name;
  int partitions = 0;
  int leaderless = 0;  // partitions without a leader
  int replicas = 0;    // minimum over the partitions
  int in_sync = 0;     // minimum over the partitions
  // Absent if the user may not read settings (DESCRIBE_CONFIGS).
  std::optional<int64_t> min_in_sync;
  std::optional<int64_t> max_message_bytes;
  std::map<std::string, std::string> settings;  // all of them, with the brokers' defaults
};

// The topics whose names are `wanted`, at most `most`, sorted by name. Creates none. Blocks for at
// most twice `timeout`. Errors: WR-4001, WR-4007, WR-4006.
// `wanted` is called on the calling thread, once for each topic that the user may see. The settings
// are best effort: without an answer they are absent.
absl::StatusOr<std::vector<TopicInfo>> ReadTopicInfo(
    const KafkaConfig& kafka, const std::function<bool(std::string_view)>& wanted, size_t most,
    Micros timeout);

}  // namespace walrelay
