#include "sinks/kafka/mock/mock_cluster.h"

#include "base/check.h"
#include "base/log.h"
#include "walrelay/error.h"

namespace walrelay {

// The mock cluster is part of a client, which it needs for its threads and its log.
absl::StatusOr<std::unique_ptr<MockCluster>> MockCluster::Start(int brokers) {
  WR_CHECK(brokers > 0, "a cluster has a broker");
  rd_kafka_conf_t* conf = rd_kafka_conf_new();
  rd_kafka_conf_set_log_cb(conf,
                           [](const rd_kafka_t*, int, const char* facility, const char* message) {
                             LogDebug("mock_cluster", message, {{"facility", facility}});
                           });
  char reason[512];
  rd_kafka_t* client = rd_kafka_new(RD_KAFKA_PRODUCER, conf, reason, sizeof(reason));
  if (client == nullptr) {
    rd_kafka_conf_destroy(conf);
    return Error(ErrorCode::kInternal, reason);
  }
  rd_kafka_mock_cluster_t* cluster = rd_kafka_mock_cluster_new(client, brokers);
  if (cluster == nullptr) {
    rd_kafka_destroy(client);
    return Error(ErrorCode::kInternal, "librdkafka cannot start its mock cluster");
  }
  return std::unique_ptr<MockCluster>(new MockCluster(client, cluster));
}

// In this order: the cluster uses the client's threads.
MockCluster::~MockCluster() {
  rd_kafka_mock_cluster_destroy(cluster_);
  rd_kafka_destroy(client_);
}

void MockCluster::CreateTopic(const std::string& topic, int partitions) {
  // Replication factor 1: the brokers are one process.
  rd_kafka_mock_topic_create(cluster_, topic.c_str(), partitions, 1);
}

}  // namespace walrelay
