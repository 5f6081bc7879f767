#include "sinks/kafka/topics/compacted_topic_rule.h"

#include <fmt/format.h>

#include <limits>

#include "walrelay/config/kafka.h"

namespace walrelay {
namespace {

constexpr int64_t kMinute = 60'000;
constexpr int64_t kHour = 60 * kMinute;
constexpr int64_t kMebibyte = 1 << 20;

// `value` is that of a new topic; an existing one may have any from `least` to `most`.
struct Limits {
  const char* name;
  int64_t value;
  int64_t least;
  int64_t most;
  const char* effect;  // of a value beyond them
};

// Only closed segments are compacted: small ones keep the topic small. A version that a replaced
// relay wrote late must not replace a newer one at once: the newest ones stay for some minutes. The
// markers of transactions stay for delete.retention.ms after the last record of the transaction is
// gone: by default, a day's transactions.
constexpr Limits kLimits[] = {
    {"segment.ms", 10 * kMinute, 0, 6 * kHour, "it is compacted rarely"},
    {"segment.bytes", 16 * kMebibyte, 0, 256 * kMebibyte, "it is compacted rarely"},
    {"min.compaction.lag.ms", 5 * kMinute, kMinute, std::numeric_limits<int64_t>::max(),
     "what a replaced relay writes late soon replaces the newest version of the record"},
    {"max.compaction.lag.ms", kHour, 0, 24 * kHour, "it is compacted rarely"},
    {"delete.retention.ms", kMinute, 0, kHour, "markers of old transactions stay"},
};

}  // namespace

TopicRule CompactedTopicRule(std::string_view topic) {
  TopicRule rule{.match = std::string(topic),
                 .partitions = 1,
                 .config = {{"cleanup.policy", "compact"},
                            {"retention.ms", "-1"},
                            {"min.cleanable.dirty.ratio", "0.05"}}};
  for (const Limits& limits : kLimits) {
    rule.config.emplace_back(limits.name, std::to_string(limits.value));
  }
  return rule;
}

std::vector<UnsuitableSetting> UnsuitableSettings(const KafkaSettings& settings) {
  std::vector<UnsuitableSetting> unsuitable;
  for (const Limits& limits : kLimits) {
    const auto value = NumberIn(settings, limits.name);
    if (value && (*value < limits.least || *value > limits.most)) {
      unsuitable.push_back({limits.name, *value, limits.effect});
    }
  }
  return unsuitable;
}

std::string AlterCompactedTopicCommand(std::string_view topic) {
  std::string values;
  for (const Limits& limits : kLimits) {
    values += fmt::format("{}{}={}", values.empty() ? "" : ",", limits.name, limits.value);
  }
  return fmt::format(
      "kafka-configs.sh --bootstrap-server BROKER --alter --topic {} --add-config {}", topic,
      values);
}

}  // namespace walrelay
