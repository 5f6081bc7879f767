#include "kafka/topic_creation.h"

#include "base/text.h"
#include "kafka/conf.h"
#include "kafka/delivery_error.h"
#include "kafka/handles.h"
#include "walrelay/error.h"

namespace walrelay {
namespace {

using NewTopic = std::unique_ptr<rd_kafka_NewTopic_t, DestroyWith<&rd_kafka_NewTopic_destroy>>;
using AdminOptions =
    std::unique_ptr<rd_kafka_AdminOptions_t, DestroyWith<&rd_kafka_AdminOptions_destroy>>;

// The replication factor: default.replication.factor of the brokers.
constexpr int kBrokersDefault = -1;

// That the topic exists already is no refusal: brokers check the privilege first.
void TryToCreate(rd_kafka_t* client, const std::string& topic, int millis, TopicCreation& out) {
  char reason[512];
  const NewTopic owned(
      rd_kafka_NewTopic_new(topic.c_str(), 1, kBrokersDefault, reason, sizeof(reason)));
  const AdminOptions options(rd_kafka_AdminOptions_new(client, RD_KAFKA_ADMIN_OP_CREATETOPICS));
  // Without validate_only the topic would be created.
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

absl::StatusOr<TopicCreation> CheckTopicCreation(const KafkaConfig& kafka, const std::string& topic,
                                                 Micros timeout) {
  WR_ASSIGN_OR_RETURN(KafkaConf conf, MakeConsumerConf(kafka));
  WR_ASSIGN_OR_RETURN(const KafkaClient client, MakeClient(RD_KAFKA_CONSUMER, std::move(conf)));
  TopicCreation out;
  TryToCreate(client.get(), topic, static_cast<int>(timeout.count() / 1000), out);
  return out;
}

}  // namespace walrelay
