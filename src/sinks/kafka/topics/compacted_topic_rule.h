// The settings of a topic of which Kafka keeps the last record of each key: those of a new one, and
// what an existing one lacks.
//
// Pure. Source: Kafka documentation, "Topic Configs".
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "sinks/kafka/topics/topic_settings.h"
#include "walrelay/config/kafka.h"

namespace walrelay {

// A setting that makes an existing topic grow, or lose the newest version of a record.
struct UnsuitableSetting {
  std::string_view name;
  int64_t value = 0;
  std::string_view effect;
};

// One partition, compacted; the first setting is cleanup.policy. The number of replicas is left to
// the brokers.
TopicRule CompactedTopicRule(std::string_view topic);

// `settings`: of an existing topic, with the brokers' defaults. One that is absent counts as
// suitable: brokers of that version do not have it.
std::vector<UnsuitableSetting> UnsuitableSettings(const KafkaSettings& settings);

// The command that gives the topic all suitable settings; the operator fills in BROKER. All of
// them, because brokers refuse a lag that is longer than the greatest one.
std::string AlterCompactedTopicCommand(std::string_view topic);

}  // namespace walrelay
