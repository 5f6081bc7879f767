#include "sinks/kafka/topics/topic_info.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "sinks/kafka/client/conf.h"
#include "sinks/kafka/client/delivery_error.h"
#include "sinks/kafka/client/handles.h"
#include "sinks/kafka/topics/topic_settings.h"
#include "walrelay/config/kafka.h"
#include "walrelay/error.h"

namespace walrelay {
namespace {

// The minima over all partitions: a topic is as safe as its weakest partition.
TopicInfo FactsOf(const rd_kafka_metadata_topic& topic) {
  TopicInfo info{.name = topic.topic, .partitions = topic.partition_cnt};
  info.replicas = topic.partition_cnt == 0 ? 0 : std::numeric_limits<int>::max();
  info.in_sync = info.replicas;
  for (int i = 0; i < topic.partition_cnt; ++i) {
    const rd_kafka_metadata_partition& partition = topic.partitions[i];
    info.leaderless += partition.leader < 0 ? 1 : 0;
    info.replicas = std::min(info.replicas, partition.replica_cnt);
    info.in_sync = std::min(info.in_sync, partition.isr_cnt);
  }
  return info;
}

// Best effort: without the privilege to read settings they stay unknown.
void AddSettings(rd_kafka_t* client, Micros timeout, std::vector<TopicInfo>& topics) {
  if (topics.empty()) {
    return;
  }
  std::vector<std::string> names;
  for (const TopicInfo& topic : topics) {
    names.push_back(topic.name);
  }
  auto found = ReadSettings(client, RD_KAFKA_RESOURCE_TOPIC, names,
                            static_cast<int>(timeout.count() / 1000));
  for (TopicInfo& topic : topics) {
    topic.settings = std::move(found[topic.name]);
    topic.min_in_sync = NumberIn(topic.settings, "min.insync.replicas");
    topic.max_message_bytes = NumberIn(topic.settings, "max.message.bytes");
  }
}

}  // namespace

absl::StatusOr<std::vector<TopicInfo>> ReadTopicInfo(
    const KafkaConfig& kafka, const std::function<bool(std::string_view)>& wanted, size_t most,
    Micros timeout) {
  WR_ASSIGN_OR_RETURN(KafkaConf conf, MakeConsumerConf(kafka));
  WR_ASSIGN_OR_RETURN(const KafkaClient client, MakeClient(RD_KAFKA_CONSUMER, std::move(conf)));
  const struct rd_kafka_metadata* found = nullptr;
  const rd_kafka_resp_err_t asked =
      rd_kafka_metadata(client.get(), 1, nullptr, &found, static_cast<int>(timeout.count() / 1000));
  if (asked != RD_KAFKA_RESP_ERR_NO_ERROR) {
    return ClientError(asked, {});
  }
  const KafkaMetadata metadata(found);
  std::vector<TopicInfo> topics;
  for (int i = 0; i < metadata->topic_cnt; ++i) {
    if (wanted(metadata->topics[i].topic)) {
      topics.push_back(FactsOf(metadata->topics[i]));
    }
  }
  std::sort(topics.begin(), topics.end(),
            [](const TopicInfo& a, const TopicInfo& b) { return a.name < b.name; });
  topics.resize(std::min(topics.size(), most));
  AddSettings(client.get(), timeout, topics);
  return topics;
}

}  // namespace walrelay
