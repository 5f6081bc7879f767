// MockCluster: librdkafka's mock broker, in this process.
//
// Speaks the real protocol on 127.0.0.1 to any client, in this process or another (kcat). For the
// demonstration and for tests of errors. It keeps the last few megabytes of a partition, and
// neither checks producer sequences nor removes duplicates; no claim about order or duplicates
// relies on it. Its API is not covered by librdkafka's stability promise: only this file uses it.
#pragma once

#include <librdkafka/rdkafka.h>
#include <librdkafka/rdkafka_mock.h>

#include <memory>
#include <string>

#include "absl/status/statusor.h"

namespace walrelay {

class MockCluster {
 public:
  // Errors: WR-5001 if librdkafka cannot create it.
  // REQUIRES: brokers > 0. Listens on free ports of 127.0.0.1, on threads of librdkafka.
  static absl::StatusOr<std::unique_ptr<MockCluster>> Start(int brokers);
  ~MockCluster();

  std::string bootstrap_servers() const { return rd_kafka_mock_cluster_bootstraps(cluster_); }
  // Other topics are created on demand, with four partitions.
  // Replication factor 1. A topic that exists keeps its partitions.
  void CreateTopic(const std::string& topic, int partitions);

  // For tests, which inject errors.
  rd_kafka_mock_cluster_t* get() const { return cluster_; }

 private:
  // Takes both; destroyed in the opposite order of their creation.
  MockCluster(rd_kafka_t* client, rd_kafka_mock_cluster_t* cluster)
      : client_(client), cluster_(cluster) {}

  rd_kafka_t* client_;
  rd_kafka_mock_cluster_t* cluster_;
};

}  // namespace walrelay
