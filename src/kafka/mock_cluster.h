// MockCluster: librdkafka's own broker, in this process.
//
// Speaks the real protocol on 127.0.0.1 to any client, this process' and others' (kcat). For the
// demonstration and for tests of errors; it keeps the last few megabytes of a partition and neither
// checks producer sequences nor removes duplicates, so order and duplicates are never claimed by
// it. Its interface is outside of librdkafka's promise of stability: this file is all that uses it.
#pragma once

#include <librdkafka/rdkafka.h>
#include <librdkafka/rdkafka_mock.h>

#include <memory>
#include <string>

#include "absl/status/statusor.h"

namespace walrelay {

class MockCluster {
 public:
  static absl::StatusOr<std::unique_ptr<MockCluster>> Start(int brokers);
  ~MockCluster();

  std::string bootstrap_servers() const { return rd_kafka_mock_cluster_bootstraps(cluster_); }
  // Topics are otherwise made on demand, with four partitions.
  void CreateTopic(const std::string& topic, int partitions);

  // For tests, which script errors.
  rd_kafka_mock_cluster_t* get() const { return cluster_; }

 private:
  MockCluster(rd_kafka_t* client, rd_kafka_mock_cluster_t* cluster)
      : client_(client), cluster_(cluster) {}

  rd_kafka_t* client_;
  rd_kafka_mock_cluster_t* cluster_;
};

}  // namespace walrelay
