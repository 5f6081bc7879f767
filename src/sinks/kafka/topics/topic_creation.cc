#include "sinks/kafka/topics/topic_creation.h"

#include <fmt/format.h>

#include "base/check.h"
#include "base/text.h"
#include "sinks/kafka/client/conf.h"
#include "sinks/kafka/client/delivery_error.h"
#include "sinks/kafka/client/handles.h"
#include "sinks/kafka/topics/topic_rules.h"
#include "walrelay/config/kafka.h"
#include "walrelay/error.h"

namespace walrelay {
namespace {

using NewTopic = std::unique_ptr<rd_kafka_NewTopic_t, DestroyWith<&rd_kafka_NewTopic_destroy>>;
using AdminOptions =
    std::unique_ptr<rd_kafka_AdminOptions_t, DestroyWith<&rd_kafka_AdminOptions_destroy>>;

// For the controller's work, and for finding the controller. A record waits meanwhile; brokers that
// are down answer nothing, and a retry may reach another controller.
constexpr int kCreationMillis = 10'000;

NewTopic ToNewTopic(const std::string& name, const TopicRule& rule) {
  char reason[512];
  NewTopic topic(rd_kafka_NewTopic_new(name.c_str(), static_cast<int>(rule.partitions),
                                       static_cast<int>(rule.replication_factor), reason,
                                       sizeof(reason)));
  WR_CHECK(topic != nullptr, "the loader accepts only numbers that librdkafka accepts");
  for (const auto& [setting, value] : rule.config) {
    rd_kafka_NewTopic_set_config(topic.get(), setting.c_str(), value.c_str());
  }
  return topic;
}

// The brokers' own text says which value is wrong, and why. `origin`: where the values are from.
absl::Status RefusedTopic(rd_kafka_resp_err_t error, std::string_view topic,
                          std::string_view detail, std::string_view origin) {
  const std::string message =
      fmt::format("{}: {} ({}){}{}", Printable(topic, 80), rd_kafka_err2str(error),
                  rd_kafka_err2name(error), detail.empty() ? "" : "; ", Printable(detail, 300));
  switch (error) {
    case RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED:
    case RD_KAFKA_RESP_ERR_CLUSTER_AUTHORIZATION_FAILED:
      return Error(ErrorCode::kTopicDenied, "creating topic " + message, TopicAclRemedy(topic));
    case RD_KAFKA_RESP_ERR_TOPIC_EXCEPTION:
      return Error(ErrorCode::kTopicInvalid, message);
    case RD_KAFKA_RESP_ERR_INVALID_PARTITIONS:
    case RD_KAFKA_RESP_ERR_INVALID_REPLICATION_FACTOR:
    case RD_KAFKA_RESP_ERR_INVALID_REPLICA_ASSIGNMENT:
    case RD_KAFKA_RESP_ERR_INVALID_CONFIG:
    case RD_KAFKA_RESP_ERR_INVALID_REQUEST:
    case RD_KAFKA_RESP_ERR_UNSUPPORTED_VERSION:
    case RD_KAFKA_RESP_ERR_POLICY_VIOLATION:
      return Error(ErrorCode::kTopicCreationRefused, fmt::format("{}{}", message, origin));
    default:
      return Error(ErrorCode::kKafkaUnreachable, "creating topic " + message);
  }
}

// OK: the topic exists. `origin` as above.
absl::Status StatusOf(const rd_kafka_topic_result_t* result, std::string_view origin) {
  const rd_kafka_resp_err_t error = rd_kafka_topic_result_error(result);
  if (error == RD_KAFKA_RESP_ERR_NO_ERROR || error == RD_KAFKA_RESP_ERR_TOPIC_ALREADY_EXISTS) {
    return absl::OkStatus();
  }
  const char* detail = rd_kafka_topic_result_error_string(result);
  return RefusedTopic(error, rd_kafka_topic_result_name(result), detail != nullptr ? detail : "",
                      origin);
}

TopicAnswer ToAnswer(const rd_kafka_topic_result_t* result, const TopicsConfig& topics) {
  const std::string topic = rd_kafka_topic_result_name(result);
  return {.topic = topic,
          .status = StatusOf(
              result, fmt::format("; [[kafka.topics.rules]]: {}", NameOf(RuleFor(topics, topic)))),
          .created = rd_kafka_topic_result_error(result) == RD_KAFKA_RESP_ERR_NO_ERROR};
}

// The error of the request as a whole.
absl::Status RequestError(rd_kafka_event_t* event) {
  const rd_kafka_resp_err_t error = rd_kafka_event_error(event);
  if (error == RD_KAFKA_RESP_ERR_NO_ERROR) {
    return absl::OkStatus();
  }
  const char* detail = rd_kafka_event_error_string(event);
  return Error(ErrorCode::kKafkaUnreachable,
               fmt::format("creating topics: {} ({})",
                           Printable(detail != nullptr ? detail : rd_kafka_err2str(error), 300),
                           rd_kafka_err2name(error)));
}

void Send(rd_kafka_t* client, rd_kafka_queue_t* replies, const TopicsConfig& topics,
          std::span<const std::string> names, const rd_kafka_AdminOptions_t* options) {
  std::vector<NewTopic> owned;
  std::vector<rd_kafka_NewTopic_t*> request;
  for (const std::string& name : names) {
    owned.push_back(ToNewTopic(name, RuleFor(topics, name)));
    request.push_back(owned.back().get());
  }
  rd_kafka_CreateTopics(client, request.data(), request.size(), options, replies);
}

// librdkafka accepts each of these values: a failure would create a topic that should only be
// validated.
AdminOptions MakeOptions(rd_kafka_t* client, int millis, bool validate_only) {
  AdminOptions options(rd_kafka_AdminOptions_new(client, RD_KAFKA_ADMIN_OP_CREATETOPICS));
  char reason[512];
  const bool set = rd_kafka_AdminOptions_set_request_timeout(options.get(), millis, reason,
                                                             sizeof(reason)) == 0 &&
                   rd_kafka_AdminOptions_set_operation_timeout(options.get(), millis, reason,
                                                               sizeof(reason)) == 0 &&
                   rd_kafka_AdminOptions_set_validate_only(options.get(), validate_only ? 1 : 0,
                                                           reason, sizeof(reason)) == 0;
  WR_CHECK(set, "librdkafka knows the options of CreateTopics");
  return options;
}

}  // namespace

void RequestTopics(rd_kafka_t* client, rd_kafka_queue_t* replies, const TopicsConfig& topics,
                   std::span<const std::string> names) {
  WR_CHECK(!names.empty(), "a request names a topic");
  Send(client, replies, topics, names,
       MakeOptions(client, kCreationMillis, /*validate_only=*/false).get());
}

absl::StatusOr<std::vector<TopicAnswer>> ReadTopicAnswers(rd_kafka_event_t* event,
                                                          const TopicsConfig& topics) {
  const rd_kafka_CreateTopics_result_t* result = rd_kafka_event_CreateTopics_result(event);
  WR_CHECK(result != nullptr, "the event answers a request for topics");
  WR_RETURN_IF_ERROR(RequestError(event));
  size_t count = 0;
  const rd_kafka_topic_result_t** results = rd_kafka_CreateTopics_result_topics(result, &count);
  std::vector<TopicAnswer> answers;
  for (size_t i = 0; i < count; ++i) {
    answers.push_back(ToAnswer(results[i], topics));
  }
  return answers;
}

absl::Status CreateTopic(rd_kafka_t* client, const std::string& name, const TopicRule& rule,
                         int millis) {
  const NewTopic topic = ToNewTopic(name, rule);
  rd_kafka_NewTopic_t* request = topic.get();
  const KafkaQueue queue(rd_kafka_queue_new(client));
  rd_kafka_CreateTopics(client, &request, 1,
                        MakeOptions(client, millis, /*validate_only=*/false).get(), queue.get());
  const KafkaEvent event(rd_kafka_queue_poll(queue.get(), millis));
  const rd_kafka_CreateTopics_result_t* result =
      event != nullptr ? rd_kafka_event_CreateTopics_result(event.get()) : nullptr;
  if (result == nullptr) {
    return Error(ErrorCode::kKafkaUnreachable,
                 fmt::format("creating topic {}: no broker has answered", Printable(name, 80)));
  }
  const absl::Status answered = RequestError(event.get());
  // Brokers before 2.4 have no default for the number of replicas.
  if (rd_kafka_event_error(event.get()) == RD_KAFKA_RESP_ERR__UNSUPPORTED_FEATURE) {
    return Error(ErrorCode::kTopicCreationRefused, MessageOf(answered));
  }
  WR_RETURN_IF_ERROR(answered);
  size_t count = 0;
  const rd_kafka_topic_result_t** results = rd_kafka_CreateTopics_result_topics(result, &count);
  return count == 1 ? StatusOf(results[0], "")
                    : Error(ErrorCode::kKafkaUnreachable,
                            fmt::format("creating topic {}: the answer does not mention it",
                                        Printable(name, 80)));
}

std::string TopicAclRemedy(std::string_view topic) {
  return fmt::format(
      "kafka-acls.sh --bootstrap-server BROKER --add --allow-principal User:NAME --operation "
      "Create --operation Write --operation Describe --topic {}; or for all topics with a prefix: "
      "--topic PREFIX --resource-pattern-type prefixed. walrelay retries automatically.",
      Printable(topic, 80));
}

absl::StatusOr<std::vector<TopicAnswer>> CheckTopicCreation(const KafkaConfig& kafka,
                                                            std::span<const std::string> names,
                                                            Micros timeout) {
  WR_ASSIGN_OR_RETURN(KafkaConf conf, MakeConsumerConf(kafka));
  WR_ASSIGN_OR_RETURN(const KafkaClient client, MakeClient(RD_KAFKA_CONSUMER, std::move(conf)));
  const TopicsConfig topics =
      kafka.topics.create == CreateTopics::kCreate ? kafka.topics : TopicsConfig();
  const int millis = static_cast<int>(timeout.count() / 1000);
  const KafkaQueue queue(rd_kafka_queue_new(client.get()));
  Send(client.get(), queue.get(), topics, names,
       MakeOptions(client.get(), millis, /*validate_only=*/true).get());
  const KafkaEvent event(rd_kafka_queue_poll(queue.get(), millis));
  if (event == nullptr || rd_kafka_event_CreateTopics_result(event.get()) == nullptr) {
    return std::vector<TopicAnswer>();
  }
  auto answers = ReadTopicAnswers(event.get(), topics);
  return answers.ok() ? *std::move(answers) : std::vector<TopicAnswer>();
}

}  // namespace walrelay
