#include "sinks/kafka/topics/topic_reader.h"

#include <librdkafka/rdkafka.h>

#include <algorithm>
#include <tuple>

#include "sinks/kafka/client/conf.h"
#include "sinks/kafka/client/handles.h"
#include "sinks/kafka/topics/topic_scanner.h"
#include "walrelay/config/kafka.h"
#include "walrelay/error.h"

namespace walrelay {
namespace {

// librdkafka's timeouts are int milliseconds.
int Millis(Micros duration) {
  return static_cast<int>(duration.count() / 1000);
}

StoredRecord Copy(const std::string& topic, const TopicRecord& scanned) {
  StoredRecord record{.topic = topic,
                      .partition = scanned.partition(),
                      .offset = scanned.offset(),
                      .key = std::optional<std::string>(scanned.key()),
                      .value = std::optional<std::string>(scanned.value()),
                      .timestamp = scanned.timestamp()};
  for (const auto& [name, value] : scanned.headers()) {
    record.headers.emplace_back(name, value);
  }
  return record;
}

}  // namespace

absl::StatusOr<std::vector<StoredRecord>> ReadTopics(const KafkaConfig& kafka,
                                                     const std::vector<std::string>& topics,
                                                     Micros timeout,
                                                     std::optional<WallTime> since) {
  WR_ASSIGN_OR_RETURN(TopicScanner scanner, TopicScanner::Create(kafka));
  std::vector<StoredRecord> records;
  for (const std::string& topic : topics) {
    WR_RETURN_IF_ERROR(scanner
                           .Scan(topic, since, timeout,
                                 [&](const TopicRecord& record) {
                                   records.push_back(Copy(topic, record));
                                   return absl::OkStatus();
                                 })
                           .status());
  }
  // In the order of each partition's log: the first record of an event is the one that counts.
  std::sort(records.begin(), records.end(), [](const StoredRecord& a, const StoredRecord& b) {
    return std::tie(a.topic, a.partition, a.offset) < std::tie(b.topic, b.partition, b.offset);
  });
  return records;
}

// Waits for the brokers' answer. Deletion itself continues in the background on the brokers.
absl::Status DeleteTopics(const KafkaConfig& kafka, const std::vector<std::string>& topics,
                          Micros timeout) {
  WR_ASSIGN_OR_RETURN(KafkaConf conf, MakeConsumerConf(kafka));
  WR_ASSIGN_OR_RETURN(const KafkaClient client, MakeClient(RD_KAFKA_CONSUMER, std::move(conf)));
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
