#include "sinks/kafka/topics/topic_scanner.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <vector>

#include "base/text.h"
#include "sinks/kafka/client/conf.h"
#include "sinks/kafka/topics/partition_range.h"
#include "sinks/kafka/topics/topic_replicas.h"
#include "walrelay/config/kafka.h"
#include "walrelay/error.h"

namespace walrelay {
namespace {

using SteadyTime = std::chrono::steady_clock::time_point;

// Memory is bounded by the queue, which all partitions share; small records take several times
// their size. ReadRanges() keeps a small queue from being slow with librdkafka before 2.2; later
// versions have the last property, which earlier ones reject: errors are ignored.
constexpr std::pair<const char*, const char*> kProperties[] = {
    {"fetch.message.max.bytes", "131072"},
    {"queued.max.messages.kbytes", "1024"},
    {"fetch.wait.max.ms", "50"},
    {"fetch.queue.backoff.ms", "20"},
};

ScannedRecord::Text Bytes(const void* data, size_t size) {
  return data != nullptr ? ScannedRecord::Text({static_cast<const char*>(data), size})
                         : std::nullopt;
}

absl::Status NoLeader(const std::string& topic, int32_t partition) {
  return Error(ErrorCode::kKafkaUnreachable,
               fmt::format("partition {} of topic {} has no leader that answers", partition,
                           Printable(topic, 80)));
}

// The ranges to be read, one for each partition that has records since `since`.
absl::StatusOr<std::vector<PartitionRange>> RangesOf(rd_kafka_t* client, const std::string& topic,
                                                     const struct rd_kafka_metadata& metadata,
                                                     std::optional<WallTime> since,
                                                     SteadyTime deadline) {
  const auto partitions = PartitionsIn(metadata);
  const KafkaPartitionList list(
      rd_kafka_topic_partition_list_new(static_cast<int>(partitions.size())));
  for (const rd_kafka_metadata_partition& partition : partitions) {
    if (partition.leader < 0) {
      return NoLeader(topic, partition.id);
    }
    rd_kafka_topic_partition_list_add(list.get(), topic.c_str(), partition.id);
  }
  // A time is asked for in the same way as the two ends are; librdkafka's logical offsets are
  // negative.
  const int64_t from =
      since
          ? std::max<int64_t>(
                std::chrono::floor<std::chrono::milliseconds>(*since).time_since_epoch().count(), 0)
          : RD_KAFKA_OFFSET_BEGINNING;
  WR_ASSIGN_OR_RETURN(const KafkaPartitionList begins,
                      QueryOffsets(client, *list, from, MillisBefore(deadline)));
  WR_ASSIGN_OR_RETURN(const KafkaPartitionList ends,
                      QueryOffsets(client, *list, RD_KAFKA_OFFSET_END, MillisBefore(deadline)));
  std::vector<PartitionRange> ranges;
  for (const rd_kafka_metadata_partition& partition : partitions) {
    const int64_t begin = OffsetOf(*begins, topic, partition.id);
    const int64_t end = OffsetOf(*ends, topic, partition.id);
    if (end < 0) {
      return NoLeader(topic, partition.id);
    }
    if (begin >= 0 && begin < end) {  // negative: nothing since that time
      ranges.push_back({.topic = topic, .partition = partition.id, .begin = begin, .end = end});
    }
  }
  return ranges;
}

}  // namespace

ScannedRecord::Text ScannedRecord::key() const {
  return Bytes(message_.key, message_.key_len);
}

ScannedRecord::Text ScannedRecord::value() const {
  return Bytes(message_.payload, message_.len);
}

std::optional<WallTime> ScannedRecord::timestamp() const {
  rd_kafka_timestamp_type_t type = RD_KAFKA_TIMESTAMP_NOT_AVAILABLE;
  const int64_t millis = rd_kafka_message_timestamp(&message_, &type);
  return type != RD_KAFKA_TIMESTAMP_NOT_AVAILABLE
             ? std::optional(WallTime(std::chrono::milliseconds(millis)))
             : std::nullopt;
}

ScannedRecord::Text ScannedRecord::Header(const char* name) const {
  rd_kafka_headers_t* headers = nullptr;
  const void* value = nullptr;
  size_t size = 0;
  const bool found =
      rd_kafka_message_headers(&message_, &headers) == RD_KAFKA_RESP_ERR_NO_ERROR &&
      rd_kafka_header_get_last(headers, name, &value, &size) == RD_KAFKA_RESP_ERR_NO_ERROR;
  return found ? Bytes(value, size) : std::nullopt;
}

std::vector<std::pair<std::string_view, ScannedRecord::Text>> ScannedRecord::headers() const {
  std::vector<std::pair<std::string_view, Text>> all;
  rd_kafka_headers_t* headers = nullptr;
  const char* name = nullptr;
  const void* value = nullptr;
  size_t size = 0;
  if (rd_kafka_message_headers(&message_, &headers) == RD_KAFKA_RESP_ERR_NO_ERROR) {
    while (rd_kafka_header_get_all(headers, all.size(), &name, &value, &size) ==
           RD_KAFKA_RESP_ERR_NO_ERROR) {
      all.emplace_back(name, Bytes(value, size));
    }
  }
  return all;
}

absl::StatusOr<TopicScanner> TopicScanner::Create(const KafkaConfig& kafka) {
  WR_ASSIGN_OR_RETURN(KafkaConf conf, MakeConsumerConf(kafka));
  for (const auto& [name, value] : kProperties) {
    rd_kafka_conf_set(conf.get(), name, value, nullptr, 0);
  }
  rd_kafka_conf_set_events(conf.get(), RD_KAFKA_EVENT_ERROR);
  WR_ASSIGN_OR_RETURN(KafkaClient client, MakeClient(RD_KAFKA_CONSUMER, std::move(conf)));
  return TopicScanner(std::move(client));
}

absl::StatusOr<std::string> TopicScanner::Scan(const std::string& topic,
                                               std::optional<WallTime> since, Micros timeout,
                                               const OnRecord& on_record) {
  const SteadyTime deadline = std::chrono::steady_clock::now() + timeout;
  const auto before = FetchTopic(client_.get(), topic, deadline);
  if (HasCode(before.status(), ErrorCode::kTopicUnknown)) {
    return "";
  }
  WR_RETURN_IF_ERROR(before.status());
  WR_ASSIGN_OR_RETURN(const std::vector<PartitionRange> ranges,
                      RangesOf(client_.get(), topic, **before, since, deadline));
  const absl::Status read = ReadRanges(
      client_.get(), ranges, {.deadline = deadline}, std::stop_token(),
      [&](const rd_kafka_message_t& message) { return on_record(ScannedRecord(message)); });
  rd_kafka_assign(client_.get(), nullptr);
  WR_RETURN_IF_ERROR(read);
  // Only now: a replica that was in sync earlier may have missed these records.
  WR_ASSIGN_OR_RETURN(const KafkaMetadata after, FetchTopic(client_.get(), topic, deadline));
  std::vector<int32_t> partitions;
  for (const PartitionRange& range : ranges) {
    partitions.push_back(range.partition);
  }
  const std::vector<bool> safe =
      AreStoredSafely(client_.get(), topic, **before, *after, partitions, deadline);
  const auto unsafe = std::count(safe.begin(), safe.end(), false);
  return unsafe == 0 ? ""
                     : fmt::format(
                           "topic {}: {} partitions have too few in-sync replicas "
                           "(min.insync.replicas), or another leader than before",
                           Printable(topic, 80), unsafe);
}

}  // namespace walrelay
