// Requests that create topics, and their answers.
//
// Source: rdkafka.h, rd_kafka_CreateTopics.
#pragma once

#include <librdkafka/rdkafka.h>

#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "sinks/kafka/topics/topic_creator.h"

namespace walrelay {

struct KafkaConfig;
struct TopicRule;
struct TopicsConfig;

// Sends a request that creates these topics, by the rules of `topics`. Does not block: the answer
// is an event of `replies`, RD_KAFKA_EVENT_CREATETOPICS_RESULT, also if no broker answers.
// REQUIRES: `names` is not empty and has no name twice; `replies` belongs to `client`.
void RequestTopics(rd_kafka_t* client, rd_kafka_queue_t* replies, const TopicsConfig& topics,
                   std::span<const std::string> names);
// The answer to a request by the rules of `topics`. The error is WR-4001: no broker has processed
// the request, as far as known.
// REQUIRES: `event` has the type above; it stays the caller's.
absl::StatusOr<std::vector<TopicAnswer>> ReadTopicAnswers(rd_kafka_event_t* event,
                                                          const TopicsConfig& topics);

// Creates a topic by `rule` and waits for the answer, at most `millis`. OK: the topic exists; not
// every broker may know it yet. Errors: WR-3005, WR-4005, WR-4014, WR-4001. REQUIRES: the rule has
// numbers that librdkafka accepts.
absl::Status CreateTopic(rd_kafka_t* client, const std::string& name, const TopicRule& rule,
                         int millis);

// The command that lets a user create the topic and write to it.
std::string TopicAclRemedy(std::string_view topic);

// Whether topics could be created: by the rules of `kafka` if walrelay creates topics, else with
// the brokers' defaults. Empty: no broker has answered within `timeout`. Sends a request that is
// only validated: nothing is created. Needs no privilege to read: the brokers check it in the same
// way as a real one. A topic that exists already is OK. Blocks for at most `timeout`. Errors:
// WR-4006. REQUIRES: as for RequestTopics().
absl::StatusOr<std::vector<TopicAnswer>> CheckTopicCreation(const KafkaConfig& kafka,
                                                            std::span<const std::string> names,
                                                            Micros timeout);

}  // namespace walrelay
