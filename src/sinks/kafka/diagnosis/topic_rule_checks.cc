#include "sinks/kafka/diagnosis/topic_rule_checks.h"

#include <fmt/format.h>

#include <set>
#include <string>
#include <vector>

#include "base/text.h"
#include "route/topic_name.h"
#include "sinks/kafka/topics/topic_creation.h"
#include "sinks/kafka/topics/topic_rules.h"
#include "walrelay/config/kafka.h"
#include "walrelay/config/on_error.h"

namespace walrelay {
namespace {

void CheckPartitions(const TopicInfo& topic, const TopicRule& rule, Findings& out) {
  if (rule.partitions > 0 && rule.partitions != topic.partitions) {
    out.Warn("kafka.topic_rules",
             fmt::format("topic {} has partitions = {}; {} has {}", topic.name, topic.partitions,
                         NameOf(rule), rule.partitions),
             "Change the rule. (More partitions move keys to other partitions, see WR-4011: "
             "kafka-topics.sh --bootstrap-server BROKER --alter --topic TOPIC --partitions N)");
  }
}

void CheckReplicationFactor(const TopicInfo& topic, const TopicRule& rule, Findings& out) {
  if (rule.replication_factor > 0 && rule.replication_factor != topic.replicas) {
    out.Warn(
        "kafka.topic_rules",
        fmt::format("topic {} has replication_factor = {}; {} has {}", topic.name, topic.replicas,
                    NameOf(rule), rule.replication_factor),
        "Change the topic's replication factor with kafka-reassign-partitions.sh, or the rule.");
  }
}

void CheckSettingsOfRule(const TopicInfo& topic, const TopicRule& rule, Findings& out) {
  for (const auto& [name, value] : rule.config) {
    const auto found = topic.settings.find(name);
    if (found != topic.settings.end() && found->second != value) {
      out.Warn("kafka.topic_rules",
               fmt::format("topic {} has {} = {}; {} has {}", topic.name, name,
                           Printable(found->second, 80), NameOf(rule), Printable(value, 80)),
               fmt::format("kafka-configs.sh --bootstrap-server BROKER --alter --topic {} "
                           "--add-config {}={}, or change the rule.",
                           topic.name, name, Printable(value, 80)));
    }
  }
}

// A name to which the rule applies; "" if an earlier rule or Kafka does not allow this one.
std::string ExampleOf(const TopicRule& rule, const TopicsConfig& rules) {
  std::string name;
  for (const char c : rule.match) {
    name += c == '*' ? "walrelay-doctor" : std::string(1, c == '?' ? 'x' : c);
  }
  return CheckTopicName(name).ok() && &RuleFor(rules, name) == &rule ? name : "";
}

}  // namespace

void CheckTopicRules(const TopicsConfig& rules, std::span<const TopicInfo> topics, Findings& out) {
  for (const TopicInfo& topic : topics) {
    const TopicRule& rule = RuleFor(rules, topic.name);
    CheckPartitions(topic, rule, out);
    CheckReplicationFactor(topic, rule, out);
    CheckSettingsOfRule(topic, rule, out);
  }
}

// The user needs the privilege only for the names that events use, not for those of the other
// rules.
void CheckRulesCreateTopics(const KafkaConfig& kafka, const ErrorPolicy& on_error,
                            const std::string& example, Micros timeout, Findings& out) {
  std::set<std::string> used = {example};
  if (!on_error.dead_letter_topic.empty()) {
    used.insert(on_error.dead_letter_topic);
  }
  std::set<std::string> names = used;
  for (const TopicRule& rule : kafka.topics.rules) {
    if (const std::string name = ExampleOf(rule, kafka.topics); !name.empty()) {
      names.insert(name);
    }
  }
  const auto answers =
      CheckTopicCreation(kafka, std::vector<std::string>(names.begin(), names.end()), timeout);
  if (!answers.ok()) {
    out.Problem("kafka.topic_creation", answers.status());
    return;
  }
  bool good = !answers->empty();
  for (const TopicAnswer& answer : *answers) {
    const bool denied = HasCode(answer.status, ErrorCode::kTopicDenied);
    if (!answer.status.ok() && (!denied || used.contains(answer.topic))) {
      out.Problem("kafka.topic_creation", answer.status);
      good = false;
    }
  }
  if (good) {
    out.Good("kafka.topic_creation", "walrelay may create topics by the rules of [kafka.topics]");
  }
}

}  // namespace walrelay
