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
  bool topic_exists = false;         // of the topic that was asked for
};

// Connects with the producer's settings and waits for an answer, for `timeout` at most. `topic`:
// one to look for, "" for none; asking does not create it. Errors: WR-4001, WR-4007, WR-4006.
absl::StatusOr<ClusterFacts> ReadClusterFacts(const KafkaConfig& kafka, const std::string& topic,
                                              Micros timeout);

}  // namespace walrelay
