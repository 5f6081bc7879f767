#include "sinks/kafka/topics/topic_replicas.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>

#include "sinks/kafka/client/delivery_error.h"
#include "sinks/kafka/topics/topic_settings.h"
#include "stream/stored_events.h"
#include "walrelay/error.h"

namespace walrelay {
namespace {

using SteadyTime = std::chrono::steady_clock::time_point;

// The settings only help if some replicas are not in sync: they are not worth a long wait.
constexpr int kSettingsMillis = 2'000;

// nullptr: the brokers' answer does not mention it.
const rd_kafka_metadata_partition* FindPartition(const struct rd_kafka_metadata& metadata,
                                                 int32_t id) {
  const auto partitions = PartitionsIn(metadata);
  const auto found = std::find_if(partitions.begin(), partitions.end(),
                                  [id](const auto& partition) { return partition.id == id; });
  return found != partitions.end() ? &*found : nullptr;
}

}  // namespace

int MillisBefore(SteadyTime deadline) {
  const auto left =
      std::chrono::ceil<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
  return static_cast<int>(std::clamp<int64_t>(left.count(), 1, 60'000));
}

absl::StatusOr<KafkaMetadata> FetchTopic(rd_kafka_t* client, const std::string& topic,
                                         SteadyTime deadline) {
  const KafkaTopic handle(rd_kafka_topic_new(client, topic.c_str(), nullptr));
  const struct rd_kafka_metadata* found = nullptr;
  const rd_kafka_resp_err_t error =
      rd_kafka_metadata(client, /*all_topics=*/0, handle.get(), &found, MillisBefore(deadline));
  if (error != RD_KAFKA_RESP_ERR_NO_ERROR) {
    return LastClientError(client, error);
  }
  KafkaMetadata metadata(found);
  const rd_kafka_resp_err_t answer =
      metadata->topic_cnt == 1 ? metadata->topics[0].err : RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART;
  if (answer != RD_KAFKA_RESP_ERR_NO_ERROR) {
    return TopicError(answer, topic);
  }
  return metadata;
}

std::span<const rd_kafka_metadata_partition> PartitionsIn(
    const struct rd_kafka_metadata& metadata) {
  const rd_kafka_metadata_topic& topic = metadata.topics[0];
  return {topic.partitions, static_cast<size_t>(topic.partition_cnt)};
}

std::optional<int64_t> ReadMinInSync(rd_kafka_t* client, const std::string& topic,
                                     SteadyTime deadline) {
  const auto settings = ReadSettings(client, RD_KAFKA_RESOURCE_TOPIC, {topic},
                                     std::min(kSettingsMillis, MillisBefore(deadline)));
  const auto found = settings.find(topic);
  return found != settings.end() ? NumberIn(found->second, "min.insync.replicas") : std::nullopt;
}

std::vector<bool> AreStoredSafely(rd_kafka_t* client, const std::string& topic,
                                  const struct rd_kafka_metadata& before,
                                  const struct rd_kafka_metadata& after,
                                  std::span<const int32_t> partitions, SteadyTime deadline) {
  std::optional<int64_t> min_in_sync;
  bool settings_read = false;
  std::vector<bool> safe(partitions.size());
  for (size_t i = 0; i < partitions.size(); ++i) {
    const auto* was = FindPartition(before, partitions[i]);
    const auto* is = FindPartition(after, partitions[i]);
    safe[i] = was != nullptr && is != nullptr && is->leader >= 0 && is->leader == was->leader;
    if (safe[i] && !IsStoredSafely(is->isr_cnt, is->replica_cnt, min_in_sync)) {
      if (!std::exchange(settings_read, true)) {
        min_in_sync = ReadMinInSync(client, topic, deadline);
      }
      safe[i] = IsStoredSafely(is->isr_cnt, is->replica_cnt, min_in_sync);
    }
  }
  return safe;
}

}  // namespace walrelay
