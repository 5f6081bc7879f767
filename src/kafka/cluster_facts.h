// What a Kafka cluster says of itself when asked once: for `walrelay check`.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "walrelay/config.h"

namespace walrelay {

struct ClusterFacts {
  std::string cluster_id;
  std::vector<std::string> brokers;  // "host:port"
  std::vector<absl::Status> topics;  // of those that were asked for: WR-3005, WR-4004, WR-4005
};

// Connects with the producer's settings and waits for each answer, for `timeout` at most. `topics`:
// some to look for; asking creates none. Errors: WR-4001, WR-4007, WR-4006.
absl::StatusOr<ClusterFacts> ReadClusterFacts(const KafkaConfig& kafka,
                                              const std::vector<std::string>& topics,
                                              Micros timeout);

}  // namespace walrelay
