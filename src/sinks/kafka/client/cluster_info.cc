#include "sinks/kafka/client/cluster_info.h"

#include <fmt/format.h>

#include "base/text.h"
#include "sinks/kafka/client/conf.h"
#include "sinks/kafka/client/delivery_error.h"
#include "sinks/kafka/client/handles.h"
#include "walrelay/config/kafka.h"
#include "walrelay/error.h"

namespace walrelay {
namespace {

absl::Status DescribeTopic(rd_kafka_t* client, const std::string& topic, int millis) {
  const KafkaTopic handle(rd_kafka_topic_new(client, topic.c_str(), nullptr));
  const struct rd_kafka_metadata* found = nullptr;
  const rd_kafka_resp_err_t asked = rd_kafka_metadata(client, 0, handle.get(), &found, millis);
  if (asked != RD_KAFKA_RESP_ERR_NO_ERROR) {
    return TopicError(asked, topic);
  }
  const KafkaMetadata metadata(found);
  const rd_kafka_resp_err_t error =
      metadata->topic_cnt == 1 ? metadata->topics[0].err : RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART;
  return error == RD_KAFKA_RESP_ERR_NO_ERROR ? absl::OkStatus() : TopicError(error, topic);
}

}  // namespace

absl::StatusOr<ClusterInfo> ReadClusterInfo(const KafkaConfig& kafka,
                                            const std::vector<std::string>& topics,
                                            Micros timeout) {
  // A metadata request from a consumer does not create the topic.
  WR_ASSIGN_OR_RETURN(KafkaConf conf, MakeConsumerConf(kafka));
  rd_kafka_conf_set_events(conf.get(), RD_KAFKA_EVENT_ERROR);
  WR_ASSIGN_OR_RETURN(const KafkaClient client, MakeClient(RD_KAFKA_CONSUMER, std::move(conf)));
  const struct rd_kafka_metadata* found = nullptr;
  const int millis = static_cast<int>(timeout.count() / 1000);
  const rd_kafka_resp_err_t asked = rd_kafka_metadata(client.get(), 0, nullptr, &found, millis);
  if (asked != RD_KAFKA_RESP_ERR_NO_ERROR) {
    return LastClientError(client.get(), asked);
  }
  const KafkaMetadata metadata(found);
  ClusterInfo info;
  for (int i = 0; i < metadata->broker_cnt; ++i) {
    info.brokers.push_back(
        // The advertised address, to which records are sent.
        fmt::format("{}:{}", metadata->brokers[i].host, metadata->brokers[i].port));
  }
  for (const std::string& topic : topics) {
    info.topics.push_back(DescribeTopic(client.get(), topic, millis));
  }
  info.cluster_id = ClusterIdOf(client.get());
  return info;
}

// 0 ms: the id is a part of every answer about topics and brokers.
std::string ClusterIdOf(rd_kafka_t* client) {
  std::string result;
  if (char* id = rd_kafka_clusterid(client, 0)) {
    result = id;
    rd_kafka_mem_free(client, id);
  }
  return result;
}

}  // namespace walrelay
