// Basic information about a Kafka cluster from a single query: for `walrelay check`.
#pragma once

#include <librdkafka/rdkafka.h>

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "walrelay/clock.h"

namespace walrelay {

struct KafkaConfig;

// A topic that cannot be used does not fail the query: its error is in `topics`.
struct ClusterInfo {
  std::string cluster_id;
  // As the brokers advertise themselves, which may differ from the bootstrap servers.
  std::vector<std::string> brokers;  // "host:port"
  std::vector<absl::Status> topics;  // of the requested topics: WR-3005, WR-4004, WR-4005
};

// Connects with the producer's settings and waits at most `timeout` for each answer. `topics`:
// topics to check; the query does not create them. Errors: WR-4001, WR-4007, WR-4006.
// `topics` of the result is in the order of the argument; OK for a topic that exists and is
// visible. WR-1005 if a secret file cannot be used.
absl::StatusOr<ClusterInfo> ReadClusterInfo(const KafkaConfig& kafka,
                                            const std::vector<std::string>& topics, Micros timeout);

// The cluster that has answered this client last; "" before the first answer, and from brokers that
// do not send it. Never blocks.
std::string ClusterIdOf(rd_kafka_t* client);

}  // namespace walrelay
