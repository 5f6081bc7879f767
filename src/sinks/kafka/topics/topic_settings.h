// The settings of topics and brokers.
//
// Source: rdkafka.h, rd_kafka_DescribeConfigs; Kafka documentation, "Topic Configs" and "Broker
// Configs".
#pragma once

#include <librdkafka/rdkafka.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace walrelay {

// By the setting's name, with the brokers' defaults; "" for a sensitive setting. The set of
// settings depends on the brokers' version.
using KafkaSettings = std::map<std::string, std::string>;

// nullopt: the setting is absent, or not a number.
std::optional<int64_t> NumberIn(const KafkaSettings& settings, const std::string& name);

// Asks for the settings of these resources. Does not block: the answer is an event of `replies`,
// RD_KAFKA_EVENT_DESCRIBECONFIGS_RESULT. REQUIRES: `names` is not empty and has no name twice;
// `replies` belongs to `client`.
void RequestSettings(rd_kafka_t* client, rd_kafka_ResourceType_t type,
                     const std::vector<std::string>& names, rd_kafka_queue_t* replies);
// The answer, by name: without the resources whose settings the user may not read. `event` stays
// the caller's.
std::map<std::string, KafkaSettings> SettingsIn(rd_kafka_event_t* event);

// The settings of these resources, by name. Best effort: a resource is absent if the user may not
// read its settings (DESCRIBE_CONFIGS), or without an answer within `millis`. Blocks for at most
// `millis`. REQUIRES: `names` is not empty and has no name twice.
std::map<std::string, KafkaSettings> ReadSettings(rd_kafka_t* client, rd_kafka_ResourceType_t type,
                                                  const std::vector<std::string>& names,
                                                  int millis);

}  // namespace walrelay
