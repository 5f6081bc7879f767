#include "kafka/topic_reader.h"

#include <fmt/format.h>
#include <librdkafka/rdkafka.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <span>
#include <tuple>

#include "kafka/conf.h"
#include "kafka/handles.h"
#include "kafka/partition_range.h"
#include "walrelay/error.h"

namespace walrelay {
namespace {

// librdkafka's timeouts are int milliseconds.
int Millis(Micros duration) {
  return static_cast<int>(duration.count() / 1000);
}

absl::Status Failed(std::string_view what, rd_kafka_resp_err_t error) {
  return Error(ErrorCode::kKafkaUnreachable, fmt::format("{}: {}", what, rd_kafka_err2str(error)));
}

using ReaderProperty = std::pair<const char*, const char*>;

// The default is 64 MiB. Not less, and no smaller number of messages: when the queue is full,
// librdkafka 2.0 waits for up to a second before it fetches more.
constexpr ReaderProperty kLowMemory[] = {{"queued.max.messages.kbytes", "16384"}};

// The queue of the consumer receives everything, so that one poll is enough.
absl::StatusOr<KafkaClient> StartConsumer(const KafkaConfig& kafka,
                                          std::span<const ReaderProperty> properties = {}) {
  WR_ASSIGN_OR_RETURN(KafkaConf conf, MakeConsumerConf(kafka));
  for (const auto& [name, value] : properties) {
    rd_kafka_conf_set(conf.get(), name, value, nullptr, 0);
  }
  WR_ASSIGN_OR_RETURN(KafkaClient client, MakeClient(RD_KAFKA_CONSUMER, std::move(conf)));
  rd_kafka_poll_set_consumer(client.get());
  return client;
}

// Number of partitions of a topic: 0 if it does not exist.
absl::StatusOr<int> PartitionCount(rd_kafka_t* client, const std::string& topic, Micros timeout) {
  const KafkaTopic handle(rd_kafka_topic_new(client, topic.c_str(), nullptr));
  const struct rd_kafka_metadata* found = nullptr;
  const rd_kafka_resp_err_t error =
      rd_kafka_metadata(client, 0, handle.get(), &found, Millis(timeout));
  if (error != RD_KAFKA_RESP_ERR_NO_ERROR) {
    return Failed("metadata", error);
  }
  const KafkaMetadata metadata(found);
  return metadata->topic_cnt == 1 ? metadata->topics[0].partition_cnt : 0;
}

StoredRecord Copy(const rd_kafka_message_t& message) {
  StoredRecord record{.topic = rd_kafka_topic_name(message.rkt),
                      .partition = message.partition,
                      .offset = message.offset};
  if (message.key != nullptr) {
    record.key.emplace(static_cast<const char*>(message.key), message.key_len);
  }
  if (message.payload != nullptr) {
    record.value.emplace(static_cast<const char*>(message.payload), message.len);
  }
  rd_kafka_timestamp_type_t type = RD_KAFKA_TIMESTAMP_NOT_AVAILABLE;
  const int64_t millis = rd_kafka_message_timestamp(&message, &type);
  if (type != RD_KAFKA_TIMESTAMP_NOT_AVAILABLE) {
    record.timestamp = WallTime(std::chrono::milliseconds(millis));
  }
  rd_kafka_headers_t* headers = nullptr;
  const char* name = nullptr;
  const void* value = nullptr;
  size_t size = 0;
  if (rd_kafka_message_headers(&message, &headers) == RD_KAFKA_RESP_ERR_NO_ERROR) {
    for (size_t i = 0;
         rd_kafka_header_get_all(headers, i, &name, &value, &size) == RD_KAFKA_RESP_ERR_NO_ERROR;
         ++i) {
      auto& header = record.headers.emplace_back(name, std::nullopt);
      if (value != nullptr) {
        header.second.emplace(static_cast<const char*>(value), size);
      }
    }
  }
  return record;
}

// The offset of the first record at `since` or later; `high` if there is none.
absl::StatusOr<int64_t> OffsetSince(rd_kafka_t* client, const std::string& topic, int32_t partition,
                                    WallTime since, int64_t high, Micros timeout) {
  const KafkaPartitionList asked(rd_kafka_topic_partition_list_new(1));
  rd_kafka_topic_partition_t* one =
      rd_kafka_topic_partition_list_add(asked.get(), topic.c_str(), partition);
  one->offset = std::chrono::floor<std::chrono::milliseconds>(since).time_since_epoch().count();
  const rd_kafka_resp_err_t error =
      rd_kafka_offsets_for_times(client, asked.get(), Millis(timeout));
  if (error != RD_KAFKA_RESP_ERR_NO_ERROR || one->err != RD_KAFKA_RESP_ERR_NO_ERROR) {
    return Failed(topic, error != RD_KAFKA_RESP_ERR_NO_ERROR ? error : one->err);
  }
  return one->offset < 0 ? high : one->offset;
}

// The ranges of all partitions.
absl::StatusOr<std::vector<PartitionRange>> RangesOf(rd_kafka_t* client,
                                                     const std::vector<std::string>& topics,
                                                     std::optional<WallTime> since,
                                                     Micros timeout) {
  std::vector<PartitionRange> ranges;
  for (const std::string& topic : topics) {
    WR_ASSIGN_OR_RETURN(const int count, PartitionCount(client, topic, timeout));
    for (int32_t partition = 0; partition < count; ++partition) {
      WR_ASSIGN_OR_RETURN(PartitionRange range,
                          QueryRange(client, topic, partition, Millis(timeout)));
      if (since && range.end > range.begin) {
        WR_ASSIGN_OR_RETURN(range.begin,
                            OffsetSince(client, topic, partition, *since, range.end, timeout));
      }
      ranges.push_back(std::move(range));
    }
  }
  return ranges;
}

}  // namespace

// The end is fixed when reading starts: records that arrive later are not read.
absl::StatusOr<std::vector<StoredRecord>> ReadTopics(const KafkaConfig& kafka,
                                                     const std::vector<std::string>& topics,
                                                     Micros timeout,
                                                     std::optional<WallTime> since) {
  WR_ASSIGN_OR_RETURN(const KafkaClient client, StartConsumer(kafka));
  WR_ASSIGN_OR_RETURN(const auto ranges, RangesOf(client.get(), topics, since, timeout));
  std::vector<StoredRecord> records;
  WR_RETURN_IF_ERROR(ReadRanges(client.get(), ranges, std::chrono::steady_clock::now() + timeout,
                                std::stop_token(), [&](const rd_kafka_message_t& message) {
                                  records.push_back(Copy(message));
                                  return absl::OkStatus();
                                }));
  // In the order of each partition's log: the first record of an event is the one that counts.
  std::sort(records.begin(), records.end(), [](const StoredRecord& a, const StoredRecord& b) {
    return std::tie(a.topic, a.partition, a.offset) < std::tie(b.topic, b.partition, b.offset);
  });
  return records;
}

absl::Status ReadEachRecord(const KafkaConfig& kafka, const std::string& topic, Micros timeout,
                            Micros deadline,
                            const std::function<absl::Status(StoredRecord)>& on_record) {
  WR_ASSIGN_OR_RETURN(const KafkaClient client, StartConsumer(kafka, kLowMemory));
  WR_ASSIGN_OR_RETURN(const auto ranges, RangesOf(client.get(), {topic}, std::nullopt, timeout));
  return ReadRanges(client.get(), ranges, std::chrono::steady_clock::now() + deadline,
                    std::stop_token(),
                    [&](const rd_kafka_message_t& message) { return on_record(Copy(message)); });
}

// Waits for the brokers' answer. Deletion itself continues in the background on the brokers.
absl::Status DeleteTopics(const KafkaConfig& kafka, const std::vector<std::string>& topics,
                          Micros timeout) {
  WR_ASSIGN_OR_RETURN(const KafkaClient client, StartConsumer(kafka));
  std::vector<rd_kafka_DeleteTopic_t*> requests;
  for (const std::string& topic : topics) {
    requests.push_back(rd_kafka_DeleteTopic_new(topic.c_str()));
  }
  const KafkaQueue queue(rd_kafka_queue_new(client.get()));
  rd_kafka_DeleteTopics(client.get(), requests.data(), requests.size(), nullptr, queue.get());
  rd_kafka_DeleteTopic_destroy_array(requests.data(), requests.size());
  const KafkaEvent event(rd_kafka_queue_poll(queue.get(), Millis(timeout)));
  if (event == nullptr || rd_kafka_event_error(event.get()) != RD_KAFKA_RESP_ERR_NO_ERROR) {
    return Error(ErrorCode::kKafkaUnreachable, "the brokers did not delete the topics");
  }
  return absl::OkStatus();
}

}  // namespace walrelay
