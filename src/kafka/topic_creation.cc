#include "kafka/topic_creation.h"

#include <charconv>

#include "base/text.h"
#include "kafka/conf.h"
#include "kafka/delivery_error.h"
#include "kafka/handles.h"
#include "walrelay/error.h"

namespace walrelay {
namespace {

using ConfigResource =
    std::unique_ptr<rd_kafka_ConfigResource_t, DestroyWith<&rd_kafka_ConfigResource_destroy>>;
using NewTopic = std::unique_ptr<rd_kafka_NewTopic_t, DestroyWith<&rd_kafka_NewTopic_destroy>>;
using AdminOptions =
    std::unique_ptr<rd_kafka_AdminOptions_t, DestroyWith<&rd_kafka_AdminOptions_destroy>>;

constexpr int kBrokersDefault = -1;

void TakeSetting(std::string_view name, std::string_view value, TopicCreation& out) {
  if (name == "auto.create.topics.enable") {
    out.on_demand = value == "true";
  } else if (name == "default.replication.factor") {
    int64_t number = 0;
    std::from_chars(value.data(), value.data() + value.size(), number);
    out.replicas = number;
  }
}

// Best effort: without the right to read settings they stay unknown.
void ReadBrokerSettings(rd_kafka_t* client, int32_t broker, int millis, TopicCreation& out) {
  const ConfigResource owned(
      rd_kafka_ConfigResource_new(RD_KAFKA_RESOURCE_BROKER, std::to_string(broker).c_str()));
  rd_kafka_ConfigResource_t* resource = owned.get();
  const KafkaQueue queue(rd_kafka_queue_new(client));
  rd_kafka_DescribeConfigs(client, &resource, 1, nullptr, queue.get());
  const KafkaEvent event(rd_kafka_queue_poll(queue.get(), millis));
  const auto* result =
      event != nullptr ? rd_kafka_event_DescribeConfigs_result(event.get()) : nullptr;
  if (result == nullptr || rd_kafka_event_error(event.get()) != RD_KAFKA_RESP_ERR_NO_ERROR) {
    return;
  }
  size_t count = 0;
  const rd_kafka_ConfigResource_t** found =
      rd_kafka_DescribeConfigs_result_resources(result, &count);
  if (count != 1 || rd_kafka_ConfigResource_error(found[0]) != RD_KAFKA_RESP_ERR_NO_ERROR) {
    return;
  }
  const rd_kafka_ConfigEntry_t** entries = rd_kafka_ConfigResource_configs(found[0], &count);
  for (size_t i = 0; i < count; ++i) {
    const char* value = rd_kafka_ConfigEntry_value(entries[i]);
    TakeSetting(rd_kafka_ConfigEntry_name(entries[i]), value != nullptr ? value : "", out);
  }
}

void TryToCreate(rd_kafka_t* client, const std::string& topic, int millis, TopicCreation& out) {
  char reason[512];
  const NewTopic owned(
      rd_kafka_NewTopic_new(topic.c_str(), 1, kBrokersDefault, reason, sizeof(reason)));
  const AdminOptions options(rd_kafka_AdminOptions_new(client, RD_KAFKA_ADMIN_OP_CREATETOPICS));
  // Without this the topic would be made.
  if (owned == nullptr ||
      rd_kafka_AdminOptions_set_validate_only(options.get(), 1, reason, sizeof(reason)) !=
          RD_KAFKA_RESP_ERR_NO_ERROR) {
    return;
  }
  rd_kafka_NewTopic_t* wanted = owned.get();
  const KafkaQueue queue(rd_kafka_queue_new(client));
  rd_kafka_CreateTopics(client, &wanted, 1, options.get(), queue.get());
  const KafkaEvent event(rd_kafka_queue_poll(queue.get(), millis));
  const auto* result = event != nullptr ? rd_kafka_event_CreateTopics_result(event.get()) : nullptr;
  if (result == nullptr || rd_kafka_event_error(event.get()) != RD_KAFKA_RESP_ERR_NO_ERROR) {
    return;
  }
  size_t count = 0;
  const rd_kafka_topic_result_t** topics = rd_kafka_CreateTopics_result_topics(result, &count);
  const rd_kafka_resp_err_t error =
      count == 1 ? rd_kafka_topic_result_error(topics[0]) : RD_KAFKA_RESP_ERR_UNKNOWN;
  if (error == RD_KAFKA_RESP_ERR_NO_ERROR || error == RD_KAFKA_RESP_ERR_TOPIC_ALREADY_EXISTS) {
    out.refusal = "";
  } else if (error > RD_KAFKA_RESP_ERR_NO_ERROR) {
    const char* detail = rd_kafka_topic_result_error_string(topics[0]);
    out.refusal = Printable(detail != nullptr ? detail : rd_kafka_err2str(error), 200);
    out.denied = error == RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED ||
                 error == RD_KAFKA_RESP_ERR_CLUSTER_AUTHORIZATION_FAILED;
  }
}

}  // namespace

absl::StatusOr<TopicCreation> AskAboutCreation(const KafkaConfig& kafka, const std::string& topic,
                                               Micros timeout) {
  WR_ASSIGN_OR_RETURN(KafkaConf conf, MakeConsumerConf(kafka));
  WR_ASSIGN_OR_RETURN(const KafkaClient client, MakeClient(RD_KAFKA_CONSUMER, std::move(conf)));
  const struct rd_kafka_metadata* found = nullptr;
  const int millis = static_cast<int>(timeout.count() / 1000);
  const rd_kafka_resp_err_t asked = rd_kafka_metadata(client.get(), 0, nullptr, &found, millis);
  if (asked != RD_KAFKA_RESP_ERR_NO_ERROR) {
    return ClientError(asked, {});
  }
  const KafkaMetadata metadata(found);
  TopicCreation out;
  if (metadata->broker_cnt > 0) {
    ReadBrokerSettings(client.get(), metadata->brokers[0].id, millis, out);
  }
  TryToCreate(client.get(), topic, millis, out);
  return out;
}

}  // namespace walrelay
