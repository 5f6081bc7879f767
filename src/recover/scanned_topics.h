// ScannedTopics: the topics of a recovery, read from Kafka.
//
// Not thread-safe. Blocks. The client exists from the first topic on, until
// Release().
#pragma once

#include <optional>
#include <string>

#include "kafka/topics/topic_scanner.h"
#include "recover/published_records.h"
#include "walrelay/clock.h"
#include "walrelay/config.h"

namespace walrelay {

class ScannedTopics final : public TopicTails {
 public:
  // `config` must outlive it.
  explicit ScannedTopics(const KafkaConfig& config) : config_(config) {}

  absl::StatusOr<std::string> Read(const std::string& topic, std::optional<WallTime> since,
                                   const OnRecord& on_record) override;
  void Release() override { scanner_.reset(); }

 private:
  const KafkaConfig& config_;
  std::optional<TopicScanner> scanner_;
};

}  // namespace walrelay
