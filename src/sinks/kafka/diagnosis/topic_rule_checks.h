// Checks of [kafka.topics]: whether walrelay could create topics, and whether existing topics have
// the settings of their rules.
#pragma once

#include <span>

#include "findings/findings.h"
#include "sinks/kafka/topics/topic_info.h"
#include "walrelay/clock.h"

namespace walrelay {

struct ErrorPolicy;
struct KafkaConfig;
struct TopicsConfig;

// Compares each topic with its rule. Nothing is found without rules. A setting that this user may
// not read is not compared.
void CheckTopicRules(const TopicsConfig& rules, std::span<const TopicInfo> topics, Findings& out);

// With kafka.topics.create = "create": asks the brokers whether each rule is valid, and whether
// this user may create the dead-letter topic and `example`, a name that events would use. Nothing
// is created. Blocks for at most `timeout`.
void CheckRulesCreateTopics(const KafkaConfig& kafka, const ErrorPolicy& on_error,
                            const std::string& example, Micros timeout, Findings& out);

}  // namespace walrelay
