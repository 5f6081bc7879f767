#include "sinks/kafka/producer/deletion_warning.h"

#include <algorithm>
#include <chrono>
#include <cstddef>

#include "base/log.h"
#include "base/text.h"
#include "sinks/kafka/topics/topic_retention.h"
#include "sinks/kafka/topics/topic_settings.h"

namespace walrelay {

// It is the topic's oldest record if this relay catches up.
void DeletionWarning::OnFirstRecord(const Record& record, const std::string& topic, WallTime now) {
  constexpr Micros kOld = std::chrono::seconds(10);
  constexpr size_t kMostTopics = 50;
  if (!record.timestamp || first_ages_.size() == kMostTopics) {
    return;
  }
  // A column may have any time.
  const Micros age = now - std::max(*record.timestamp, WallTime());
  if (age > kOld) {
    first_ages_[topic] = age;
    RequestSettings(client_, RD_KAFKA_RESOURCE_TOPIC, {topic}, queue_);
  }
}

// Brokers omit the settings of a topic that the user may not read: walrelay then does not warn.
void DeletionWarning::OnSettings(rd_kafka_event_t* event) const {
  for (const auto& [name, settings] : SettingsIn(event)) {
    const auto age = first_ages_.find(name);
    const auto kept = KeptFor({.name = name, .settings = settings});
    if (age != first_ages_.end() && kept && age->second > *kept) {
      LogWarning(
          "deleted_at_once",
          "Kafka deletes records soon after they are published: they are older than the "
          "topic keeps records; see walrelay doctor, check kafka.retention",
          {{"topic", name}, {"age", FormatDuration(age->second)}, {"kept", FormatDuration(*kept)}});
    }
  }
}

}  // namespace walrelay
