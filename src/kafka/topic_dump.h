// Reads what stands in topics, from their beginnings to their present ends, and removes topics: for
// the demonstration, which checks what it did and cleans up.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "walrelay/clock.h"
#include "walrelay/config.h"

namespace walrelay {

struct StoredRecord {
  std::string topic;
  int32_t partition = 0;
  int64_t offset = 0;
  std::optional<std::string> key;
  std::optional<std::string> value;
  std::vector<std::pair<std::string, std::optional<std::string>>> headers;
};

// By topic, partition, offset. A topic that does not exist has no records.
absl::StatusOr<std::vector<StoredRecord>> ReadTopics(const KafkaConfig& kafka,
                                                     const std::vector<std::string>& topics,
                                                     Micros timeout);

absl::Status DeleteTopics(const KafkaConfig& kafka, const std::vector<std::string>& topics,
                          Micros timeout);

}  // namespace walrelay
