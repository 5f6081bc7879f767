// The settings of a new topic, as [[kafka.topics.rules]] define them.
//
// Pure.
#pragma once

#include <string>
#include <string_view>

namespace walrelay {

struct TopicRule;
struct TopicsConfig;

// The first rule that matches the topic's name; without one, a rule that leaves everything to the
// brokers. The result refers to `topics`, or lives as long as the process.
const TopicRule& RuleFor(const TopicsConfig& topics, std::string_view topic);

// The rule as an operator finds it in the file: `rule match = "outbox.event.*"`, or that no rule
// matches.
std::string NameOf(const TopicRule& rule);

// The command that creates the topic by this rule; the operator fills in BROKER.
// Quoted for a shell: settings come from the configuration file, the name may come from a row.
std::string CreateTopicCommand(std::string_view topic, const TopicRule& rule);

}  // namespace walrelay
