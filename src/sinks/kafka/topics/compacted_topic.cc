#include "sinks/kafka/topics/compacted_topic.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <thread>
#include <utility>

#include "base/log.h"
#include "base/text.h"
#include "sinks/kafka/client/delivery_error.h"
#include "sinks/kafka/client/handles.h"
#include "sinks/kafka/topics/compacted_topic_rule.h"
#include "sinks/kafka/topics/topic_creation.h"
#include "sinks/kafka/topics/topic_rules.h"
#include "sinks/kafka/topics/topic_settings.h"
#include "walrelay/config/kafka.h"
#include "walrelay/error.h"

namespace walrelay {
namespace {

using SteadyTime = std::chrono::steady_clock::time_point;

// For each request: brokers that are down answer nothing.
constexpr int64_t kRequestMillis = 10'000;
// Between two queries for a leader: a topic that was just created has one within milliseconds.
constexpr std::chrono::milliseconds kFirstPause{5};
constexpr std::chrono::milliseconds kLongestPause{50};

int MillisLeft(SteadyTime deadline) {
  const auto left =
      std::chrono::ceil<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
  return static_cast<int>(std::clamp<int64_t>(left.count(), 1, kRequestMillis));
}

// Services that operate Kafka accept some settings only, but all of them accept the first.
absl::Status Create(rd_kafka_t* client, const std::string& topic, SteadyTime deadline) {
  TopicRule rule = CompactedTopicRule(topic);
  absl::Status created = CreateTopic(client, topic, rule, MillisLeft(deadline));
  if (HasCode(created, ErrorCode::kTopicCreationRefused)) {
    const std::string refusal = MessageOf(created);
    rule.config.resize(1);
    created = CreateTopic(client, topic, rule, MillisLeft(deadline));
    if (created.ok()) {
      LogWarning("topic_settings_refused",
                 "the brokers accept only cleanup.policy for the progress topic: with their "
                 "defaults for the other settings it may grow (docs/guides/progress.md)",
                 {{"topic", topic}, {"refusal", refusal}});
    }
  }
  if (created.ok()) {
    LogInfo("progress_topic_available", "the topic was created, or exists meanwhile",
            {{"topic", topic}});
  }
  if (!HasCode(created, ErrorCode::kTopicCreationRefused)) {
    return created;
  }
  // The default number of replicas needs more brokers than are running: no privilege is missing.
  const bool too_few =
      MessageOf(created).find(rd_kafka_err2name(RD_KAFKA_RESP_ERR_INVALID_REPLICATION_FACTOR)) !=
      std::string::npos;
  return Error(too_few ? ErrorCode::kTopicCreationRefused : ErrorCode::kProgressDenied,
               too_few ? MessageOf(created) : "the brokers refuse to create " + MessageOf(created),
               CreateTopicCommand(topic, CompactedTopicRule(topic)));
}

// Whether the brokers that answered have a controller: librdkafka sends requests of administrators
// to it, and waits while there is none.
bool HasController(rd_kafka_t* client, const struct rd_kafka_metadata& metadata) {
  const std::span brokers(metadata.brokers, static_cast<size_t>(metadata.broker_cnt));
  return std::any_of(brokers.begin(), brokers.end(),
                     [controller = rd_kafka_controllerid(client, 0)](const auto& broker) {
                       return broker.id == controller;
                     });
}

absl::Status CheckPolicy(rd_kafka_t* client, const std::string& topic, SteadyTime deadline) {
  const auto settings =
      ReadSettings(client, RD_KAFKA_RESOURCE_TOPIC, {topic}, MillisLeft(deadline));
  const auto found = settings.find(topic);
  const auto policy = found != settings.end() ? found->second.find("cleanup.policy")
                                              : KafkaSettings::const_iterator();
  if (found == settings.end() || policy == found->second.end() ||
      policy->second.find("delete") == std::string::npos) {
    return absl::OkStatus();
  }
  return Error(ErrorCode::kProgressTopicInvalid,
               fmt::format("topic {}: cleanup.policy is \"{}\"; expected \"compact\"", topic,
                           Printable(policy->second, 80)),
               fmt::format("kafka-configs.sh --bootstrap-server BROKER --alter --topic {} "
                           "--add-config cleanup.policy=compact",
                           topic));
}

absl::StatusOr<KafkaMetadata> Query(rd_kafka_t* client, const std::string& topic,
                                    SteadyTime deadline) {
  const KafkaTopic handle(rd_kafka_topic_new(client, topic.c_str(), nullptr));
  const struct rd_kafka_metadata* found = nullptr;
  const rd_kafka_resp_err_t error =
      rd_kafka_metadata(client, /*all_topics=*/0, handle.get(), &found, MillisLeft(deadline));
  if (error != RD_KAFKA_RESP_ERR_NO_ERROR) {
    return LastClientError(client, error);
  }
  KafkaMetadata metadata(found);
  return metadata->topic_cnt == 1
             ? absl::StatusOr<KafkaMetadata>(std::move(metadata))
             : Error(ErrorCode::kKafkaUnreachable,
                     fmt::format("topic {}: the brokers' answer does not mention it", topic));
}

}  // namespace

// A topic that exists, or that another relay creates at the same time, may have other settings: it
// is always checked.
absl::Status EnsureCompactedTopic(rd_kafka_t* client, const std::string& topic,
                                  MissingTopic missing, SteadyTime deadline,
                                  const std::stop_token& stop) {
  bool created = false;
  std::chrono::milliseconds pause = kFirstPause;
  while (!stop.stop_requested()) {
    WR_ASSIGN_OR_RETURN(const KafkaMetadata metadata, Query(client, topic, deadline));
    const rd_kafka_metadata_topic& found = metadata->topics[0];
    if (found.err == RD_KAFKA_RESP_ERR_NO_ERROR && found.partition_cnt > 1) {
      return Error(ErrorCode::kProgressTopicInvalid,
                   fmt::format("topic {}: {} partitions; expected 1", topic, found.partition_cnt),
                   "Name another topic in kafka.progress_topic and restart: the number of "
                   "partitions cannot be reduced.");
    }
    if (found.err == RD_KAFKA_RESP_ERR_NO_ERROR && found.partition_cnt == 1 &&
        found.partitions[0].leader >= 0) {
      return HasController(client, *metadata) ? CheckPolicy(client, topic, deadline)
                                              : absl::OkStatus();
    }
    const bool unknown = found.err == RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART;
    if (unknown && missing == MissingTopic::kReport) {
      return Error(ErrorCode::kProgressMissing, fmt::format("topic {} does not exist", topic));
    }
    if (unknown && !created) {
      WR_RETURN_IF_ERROR(Create(client, topic, deadline));
      created = true;
    } else if (found.err != RD_KAFKA_RESP_ERR_NO_ERROR &&
               found.err != RD_KAFKA_RESP_ERR_LEADER_NOT_AVAILABLE && !unknown) {
      return TopicError(found.err, topic);
    }
    if (std::chrono::steady_clock::now() >= deadline) {
      return Error(ErrorCode::kKafkaUnreachable,
                   fmt::format("topic {}: its partition has no leader", topic));
    }
    std::this_thread::sleep_for(pause);
    pause = std::min(2 * pause, kLongestPause);
  }
  return absl::CancelledError("the process is stopping");
}

}  // namespace walrelay
