#include "sinks/kafka/factory/kafka_sink_factory.h"

#include <algorithm>

#include "sinks/kafka/admin/progress_topic.h"
#include "sinks/kafka/admin/record_writer.h"
#include "sinks/kafka/client/conf.h"
#include "sinks/kafka/factory/offline_check.h"
#include "sinks/kafka/producer/kafka_producer.h"
#include "sinks/kafka/producer/partitioner.h"
#include "sinks/kafka/topics/topic_reader.h"
#include "sinks/kafka/topics/topic_retention.h"
#include "sinks/kafka/topics/topic_scanner.h"
#include "walrelay/config/kafka.h"
#include "walrelay/error.h"

namespace walrelay {

SinkLibrary KafkaSinkFactory::Library() {
  return {.name = "librdkafka", .version = LibrdkafkaVersion()};
}

void KafkaSinkFactory::CheckOffline(const OnInvalid& on_invalid) const {
  CheckKafkaOffline(kafka_, pipeline_, on_invalid);
}

// The configuration is built each time, because librdkafka takes ownership of it, and password
// files are read again with it.
absl::StatusOr<std::unique_ptr<Sink>> KafkaSinkFactory::Make(const SinkRequest& request) {
  WR_ASSIGN_OR_RETURN(KafkaConf conf, MakeProducerConf(kafka_, pipeline_, request.max_batch_bytes,
                                                       request.transactional_id));
  KafkaProducer::Options options = KafkaProducer::OptionsFor(kafka_);
  options.delivery_details = options_.delivery_details;
  options.warn_of_deletion = options_.warn_of_deletion;
  options.reaper = reaper();
  options.on_partitions_changed = options_.on_partitions_changed;
  options.on_topic_created = options_.on_topic_created;
  options.progress = request.progress;
  options.commit_limit = request.commit_limit;
  return KafkaProducer::Create(std::move(conf), options);
}

std::unique_ptr<ProgressTopic> KafkaSinkFactory::OpenProgress(ProgressOptions options) {
  return std::make_unique<KafkaProgressTopic>(
      kafka_, options.stop_fd,
      KafkaProgressTopic::Options{.reaper = reaper(),
                                  .patience = options.patience,
                                  .write_timeout = options.write_timeout,
                                  .alive = std::move(options.alive)});
}

absl::StatusOr<std::unique_ptr<TopicReader>> KafkaSinkFactory::OpenReader() {
  WR_ASSIGN_OR_RETURN(TopicScanner scanner, TopicScanner::Create(kafka_));
  return std::make_unique<TopicScanner>(std::move(scanner));
}

absl::StatusOr<std::vector<StoredRecord>> KafkaSinkFactory::ReadTopics(
    const std::vector<std::string>& topics, Micros timeout, std::optional<WallTime> since) {
  return walrelay::ReadTopics(kafka_, topics, timeout, since);
}

absl::StatusOr<std::vector<TopicInfo>> KafkaSinkFactory::ReadInfo(
    const std::vector<std::string>& topics, Micros timeout) const {
  std::vector<std::string> sorted = topics;
  std::sort(sorted.begin(), sorted.end());
  const auto wanted = [&sorted](std::string_view name) {
    return std::binary_search(sorted.begin(), sorted.end(), name);
  };
  return ReadTopicInfo(kafka_, wanted, topics.size(), timeout);
}

absl::StatusOr<std::map<std::string, int, std::less<>>> KafkaSinkFactory::CountPartitions(
    const std::vector<std::string>& topics, Micros timeout) {
  WR_ASSIGN_OR_RETURN(const std::vector<TopicInfo> found, ReadInfo(topics, timeout));
  std::map<std::string, int, std::less<>> partitions;
  for (const TopicInfo& topic : found) {
    partitions[topic.name] = topic.partitions;
  }
  return partitions;
}

absl::StatusOr<std::map<std::string, Micros, std::less<>>> KafkaSinkFactory::ReadRetention(
    const std::vector<std::string>& topics, Micros timeout) {
  WR_ASSIGN_OR_RETURN(const std::vector<TopicInfo> found, ReadInfo(topics, timeout));
  std::map<std::string, Micros, std::less<>> kept;
  for (const TopicInfo& topic : found) {
    if (const auto duration = KeptFor(topic)) {
      kept[topic.name] = *duration;
    }
  }
  return kept;
}

absl::Status KafkaSinkFactory::WriteRecord(const Record& record, Micros timeout) {
  return walrelay::WriteRecord(kafka_, pipeline_, record, timeout).status();
}

int32_t KafkaSinkFactory::PartitionOf(std::string_view key, int partitions) const {
  return JavaPartition(key, partitions);
}

}  // namespace walrelay
