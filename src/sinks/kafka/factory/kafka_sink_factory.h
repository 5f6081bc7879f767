// KafkaSinkFactory: the SinkFactory of a pipeline that publishes to Kafka.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sinks/kafka/client/reaper.h"
#include "sinks/kafka/topics/topic_info.h"
#include "walrelay/sink_factory.h"

namespace walrelay {

struct KafkaConfig;
struct PipelineConfig;

class KafkaSinkFactory final : public SinkFactory {
 public:
  // The references must outlive it.
  KafkaSinkFactory(const KafkaConfig& kafka, const PipelineConfig& pipeline, SinkOptions options)
      : kafka_(kafka), pipeline_(pipeline), options_(std::move(options)) {}

  // librdkafka as it is loaded.
  static SinkLibrary Library();

  SinkLibrary library() const override { return Library(); }
  void CheckOffline(const OnInvalid& on_invalid) const override;
  // Errors: those of MakeProducerConf() and KafkaProducer::Create().
  absl::StatusOr<std::unique_ptr<Sink>> Make(const SinkRequest& request) override;
  std::unique_ptr<ProgressTopic> OpenProgress(ProgressOptions options) override;
  absl::StatusOr<std::unique_ptr<TopicReader>> OpenReader() override;
  absl::StatusOr<std::vector<StoredRecord>> ReadTopics(const std::vector<std::string>& topics,
                                                       Micros timeout,
                                                       std::optional<WallTime> since) override;
  absl::StatusOr<std::map<std::string, int, std::less<>>> CountPartitions(
      const std::vector<std::string>& topics, Micros timeout) override;
  absl::StatusOr<std::map<std::string, Micros, std::less<>>> ReadRetention(
      const std::vector<std::string>& topics, Micros timeout) override;
  absl::Status WriteRecord(const Record& record, Micros timeout) override;
  // As Java's partitioner does.
  int32_t PartitionOf(std::string_view key, int partitions) const override;
  bool WaitForClients(Micros timeout) override { return reaper_.Wait(timeout); }

 private:
  // The topics of these names that exist. Blocks for at most twice `timeout`.
  absl::StatusOr<std::vector<TopicInfo>> ReadInfo(const std::vector<std::string>& topics,
                                                  Micros timeout) const;
  // nullptr: a client is closed by the thread that drops it.
  Reaper* reaper() { return options_.close_in_background ? &reaper_ : nullptr; }

  const KafkaConfig& kafka_;
  const PipelineConfig& pipeline_;
  const SinkOptions options_;
  Reaper reaper_;
};

}  // namespace walrelay
