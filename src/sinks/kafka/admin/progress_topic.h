// The progress topic: one partition, compacted, so that Kafka keeps the last record of a pipeline.
//
// Source: Kafka documentation, "Topic Configs": cleanup.policy, min.compaction.lag.ms,
// max.compaction.lag.ms, segment.ms.
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "sinks/kafka/client/reaper.h"
#include "sinks/kafka/topics/compacted_topic.h"
#include "walrelay/clock.h"
#include "walrelay/progress.h"

namespace walrelay {

struct KafkaConfig;
struct PipelineConfig;

// Uses the topic with a client of its own for each call, on a thread of its own: some requests
// of librdkafka cannot be interrupted. Not thread-safe.
class KafkaProgressTopic final : public ProgressTopic {
 public:
  struct Options {
    // Closes the clients; it must outlive the reader. nullptr: Read() waits until its client is
    // closed, after a request to stop for up to ten seconds.
    Reaper* reaper = nullptr;
    // How long a call waits for brokers that send nothing.
    Micros patience = std::chrono::seconds(20);
    // How long Write() waits for the acknowledgement, at most twice.
    Micros write_timeout = std::chrono::seconds(5);
    // Called about once a second while a call waits, on the caller's thread; may be empty.
    std::function<void()> alive;
  };

  // `kafka` must outlive it. A call returns early when `stop_fd` is readable; -1: never.
  KafkaProgressTopic(const KafkaConfig& kafka, int stop_fd, Options options)
      : kafka_(kafka), stop_fd_(stop_fd), options_(std::move(options)) {}
  KafkaProgressTopic(const KafkaConfig& kafka, int stop_fd)
      : KafkaProgressTopic(kafka, stop_fd, Options()) {}

  absl::StatusOr<ProgressReading> Read(const ProgressAddress& address) override;
  absl::StatusOr<ProgressReading> ReadExisting(const ProgressAddress& address) override;
  std::vector<Progress> ReadOfSlot(std::string_view slot) override;
  absl::StatusOr<bool> IsSettled(const std::string& topic) override;
  absl::Status Write(const ProgressAddress& address, const Progress& record) override;

 private:
  absl::StatusOr<ProgressReading> Read(const ProgressAddress& address, MissingTopic missing);

  const KafkaConfig& kafka_;
  const int stop_fd_;
  const Options options_;
};

// Writes the record with the relay's own producer and settings, and waits for its acknowledgement:
// for `walrelay progress`. The topic must exist. Blocks for at most twice `timeout`. Errors:
// WR-4001, WR-4002, WR-4006, WR-4007, WR-4008; WR-4016 if the user may not write to the topic.
absl::Status WriteProgress(const KafkaConfig& kafka, const PipelineConfig& pipeline,
                           const std::string& topic, const Progress& progress, Micros timeout);

}  // namespace walrelay
