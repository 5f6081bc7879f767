#include "sinks/kafka/topics/topic_retention.h"

#include <algorithm>

#include "sinks/kafka/topics/topic_settings.h"

namespace walrelay {
namespace {

std::string Setting(const TopicInfo& topic, const std::string& name) {
  const auto found = topic.settings.find(name);
  return found == topic.settings.end() ? "" : found->second;
}

}  // namespace

std::optional<Micros> KeptFor(const TopicInfo& topic) {
  constexpr int64_t kMost = Micros::max().count() / 1000;
  const auto millis = NumberIn(topic.settings, "retention.ms");
  const bool deletes = Setting(topic, "cleanup.policy").find("delete") != std::string::npos;
  const bool own_time = Setting(topic, "message.timestamp.type") != "LogAppendTime";
  return millis && *millis >= 0 && deletes && own_time
             ? std::optional(Micros(std::min(*millis, kMost) * 1000))
             : std::nullopt;
}

}  // namespace walrelay
