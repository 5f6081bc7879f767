#include "config/topic_rule_reader.h"

#include <fmt/format.h>

#include <cstdint>
#include <utility>

#include "config/toml_value.h"

namespace walrelay {
namespace {

// librdkafka's limits for a new topic.
constexpr int64_t kMaxPartitions = 100'000;
constexpr int64_t kMaxReplicas = 10'000;

class TopicRuleReader {
 public:
  explicit TopicRuleReader(FileProblems& problems) : problems_(problems) {}

  TopicRule Read(const toml::table& table) {
    TopicRule out;
    const size_t errors = problems_.count();
    for (auto&& [key, node] : table) {
      if (key.str() == "match") {
        const auto* glob = node.as_string();
        if (glob == nullptr || glob->get().empty()) {
          problems_.Invalid(node.source(), "match: expected a glob, such as \"outbox.event.*\"");
        } else {
          out.match = glob->get();
        }
      } else if (key.str() == "partitions") {
        ReadCount(key, node, kMaxPartitions, out.partitions);
      } else if (key.str() == "replication_factor") {
        ReadCount(key, node, kMaxReplicas, out.replication_factor);
      } else if (key.str() == "config") {
        ReadTopicConfig(node, out);
      } else {
        problems_.Unknown(key, "key of a topic rule",
                          {"match", "partitions", "replication_factor", "config"});
      }
    }
    if (!table.contains("match") && problems_.count() == errors) {
      problems_.Invalid(table.source(), "kafka.topics.rules: a topic rule requires a match");
    }
    return out;
  }

 private:
  void ReadCount(const toml::key& key, const toml::node& node, int64_t most, int64_t& out) {
    const auto* number = node.as_integer();
    if (number == nullptr || number->get() == 0 || number->get() < -1 || number->get() > most) {
      problems_.Invalid(
          node.source(),
          fmt::format("{}: expected 1 to {}, or -1 for the brokers' default", key.str(), most));
    } else {
      out = number->get();
    }
  }

  void ReadTopicConfig(const toml::node& node, TopicRule& out) {
    if (!problems_.CheckIsTable(node, "config")) {
      return;
    }
    for (auto&& [key, value] : *node.as_table()) {
      if (auto text = ReadScalar(key, value, problems_)) {
        out.config.emplace_back(key.str(), *std::move(text));
      }
    }
  }

  FileProblems& problems_;
};

}  // namespace

std::vector<TopicRule> ReadTopicRules(const toml::node& node, FileProblems& problems) {
  std::vector<TopicRule> rules;
  for (const toml::table* rule : problems.ElementsOf(node, "kafka.topics.rules")) {
    rules.push_back(TopicRuleReader(problems).Read(*rule));
  }
  return rules;
}

}  // namespace walrelay
