#include "sinks/kafka/diagnosis/retention_checks.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "base/text.h"
#include "sinks/kafka/topics/topic_retention.h"
#include "walrelay/config/on_error.h"
#include "walrelay/config/route.h"

namespace walrelay {
namespace {

std::string Setting(const TopicInfo& topic, const std::string& name) {
  const auto found = topic.settings.find(name);
  return found == topic.settings.end() ? "" : found->second;
}

bool IsCompacted(const TopicInfo& topic) {
  return Setting(topic, "cleanup.policy").find("compact") != std::string::npos;
}

// Time for the operator to act, and for the relay to publish.
constexpr Micros kMargin = std::chrono::hours(1);

}  // namespace

// Brokers delete a segment when its latest time is older than retention.ms: an event with an older
// commit time is deleted at the next check, although it was acknowledged.
void CheckRetention(const RouteConfig& route, const ErrorPolicy& on_error,
                    std::span<const TopicInfo> topics, std::optional<Micros> oldest,
                    Findings& out) {
  std::optional<Micros> shortest;
  bool good = true;
  for (const TopicInfo& topic : topics) {
    if (topic.name == on_error.dead_letter_topic) {
      continue;
    }
    if (IsCompacted(topic)) {
      out.Warn(
          "kafka.compaction",
          fmt::format("topic {} has cleanup.policy={}: Kafka deletes an event when a later one "
                      "has the same key, and refuses events without a key",
                      topic.name, Setting(topic, "cleanup.policy")),
          fmt::format("If consumers need every event: kafka-configs.sh --bootstrap-server "
                      "BROKER --alter --topic {} --add-config cleanup.policy=delete",
                      topic.name));
    }
    const auto kept = route.timestamp == TimestampSource::kNow ? std::nullopt : KeptFor(topic);
    if (!kept) {
      continue;
    }
    shortest = std::min(shortest.value_or(*kept), *kept);
    if (oldest && *kept - std::min(*kept, kMargin) < *oldest) {
      good = false;
      out.Warn("kafka.retention",
               fmt::format("the oldest event that is not published is {} old, and topic {} keeps "
                           "events for {} after their commit: Kafka deletes events that are older "
                           "soon after it has acknowledged them",
                           FormatDuration(*oldest), topic.name, FormatDuration(*kept)),
               fmt::format("Before these events are published: kafka-configs.sh --bootstrap-server "
                           "BROKER --alter --topic {} --add-config retention.ms=-1 (and the "
                           "previous value when consumers have read them); or set route.timestamp "
                           "= \"now\" and restart walrelay.",
                           topic.name));
    }
  }
  if (good && shortest) {
    out.Good("kafka.retention",
             fmt::format("topics keep events for at least {} after their commit{}",
                         FormatDuration(*shortest),
                         oldest ? fmt::format("; the oldest event that is not published is {} old",
                                              FormatDuration(*oldest))
                                : ""));
  }
}

}  // namespace walrelay
