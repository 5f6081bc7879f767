#include "kafka/topic_info.h"

#include <algorithm>
#include <charconv>
#include <limits>

#include "base/text.h"
#include "kafka/conf.h"
#include "kafka/delivery_error.h"
#include "kafka/handles.h"
#include "walrelay/error.h"

namespace walrelay {
namespace {

using ConfigResource =
    std::unique_ptr<rd_kafka_ConfigResource_t, DestroyWith<&rd_kafka_ConfigResource_destroy>>;

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

std::optional<int64_t> NumberOf(const char* text) {
  const std::string_view value = text != nullptr ? text : "";
  int64_t number = 0;
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
  return error == std::errc() && end == value.data() + value.size() ? std::optional(number)
                                                                    : std::nullopt;
}

void TakeSettings(const rd_kafka_ConfigResource_t* resource, TopicInfo& info) {
  size_t count = 0;
  const rd_kafka_ConfigEntry_t** entries = rd_kafka_ConfigResource_configs(resource, &count);
  for (size_t i = 0; i < count; ++i) {
    const std::string_view name = rd_kafka_ConfigEntry_name(entries[i]);
    const char* value = rd_kafka_ConfigEntry_value(entries[i]);
    info.settings[std::string(name)] = value != nullptr ? value : "";
    if (name == "min.insync.replicas") {
      info.min_in_sync = NumberOf(value);
    } else if (name == "max.message.bytes") {
      info.max_message_bytes = NumberOf(value);
    }
  }
}

// Best effort: without the privilege to read settings they stay unknown.
void ReadSettings(rd_kafka_t* client, Micros timeout, std::vector<TopicInfo>& topics) {
  if (topics.empty()) {
    return;
  }
  // One request for all topics; brokers answer each topic separately.
  std::vector<ConfigResource> owned;
  std::vector<rd_kafka_ConfigResource_t*> resources;
  for (const TopicInfo& topic : topics) {
    owned.emplace_back(rd_kafka_ConfigResource_new(RD_KAFKA_RESOURCE_TOPIC, topic.name.c_str()));
    resources.push_back(owned.back().get());
  }
  const KafkaQueue queue(rd_kafka_queue_new(client));
  rd_kafka_DescribeConfigs(client, resources.data(), resources.size(), nullptr, queue.get());
  const KafkaEvent event(
      rd_kafka_queue_poll(queue.get(), static_cast<int>(timeout.count() / 1000)));
  const rd_kafka_DescribeConfigs_result_t* result =
      event != nullptr ? rd_kafka_event_DescribeConfigs_result(event.get()) : nullptr;
  if (result == nullptr || rd_kafka_event_error(event.get()) != RD_KAFKA_RESP_ERR_NO_ERROR) {
    return;
  }
  size_t count = 0;
  const rd_kafka_ConfigResource_t** found =
      rd_kafka_DescribeConfigs_result_resources(result, &count);
  for (size_t i = 0; i < count; ++i) {
    const auto topic = std::find_if(topics.begin(), topics.end(), [&](const TopicInfo& info) {
      return info.name == rd_kafka_ConfigResource_name(found[i]);
    });
    if (topic != topics.end() &&
        rd_kafka_ConfigResource_error(found[i]) == RD_KAFKA_RESP_ERR_NO_ERROR) {
      TakeSettings(found[i], *topic);
    }
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
  ReadSettings(client.get(), timeout, topics);
  return topics;
}

}  // namespace walrelay
