#include "sinks/kafka/topics/topic_rules.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "route/topic_name.h"
#include "walrelay/config/kafka.h"

namespace walrelay {
namespace {

// As it is if no shell interprets any of its characters, else in single quotes.
std::string ShellWord(std::string_view word) {
  const bool plain = !word.empty() && std::all_of(word.begin(), word.end(), [](unsigned char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           std::string_view("._-=:/@%+").find(static_cast<char>(c)) != std::string_view::npos;
  });
  if (plain) {
    return std::string(word);
  }
  std::string quoted = "'";
  for (const char c : word) {
    quoted += c == '\'' ? "'\\''" : std::string(1, c);
  }
  return quoted + "'";
}

}  // namespace

const TopicRule& RuleFor(const TopicsConfig& topics, std::string_view topic) {
  static const TopicRule kNone;
  const auto rule = std::find_if(topics.rules.begin(), topics.rules.end(),
                                 [&](const auto& each) { return MatchesGlob(topic, each.match); });
  return rule == topics.rules.end() ? kNone : *rule;
}

std::string NameOf(const TopicRule& rule) {
  return rule.match.empty() ? "no rule matches; the brokers' defaults apply"
                            : fmt::format("rule match = \"{}\"", Printable(rule.match, 80));
}

std::string CreateTopicCommand(std::string_view topic, const TopicRule& rule) {
  std::string command = fmt::format("kafka-topics.sh --bootstrap-server BROKER --create --topic {}",
                                    ShellWord(topic));
  if (rule.partitions > 0) {
    command += fmt::format(" --partitions {}", rule.partitions);
  }
  if (rule.replication_factor > 0) {
    command += fmt::format(" --replication-factor {}", rule.replication_factor);
  }
  for (const auto& [name, value] : rule.config) {
    command += fmt::format(" --config {}", ShellWord(fmt::format("{}={}", name, value)));
  }
  return command;
}

}  // namespace walrelay
