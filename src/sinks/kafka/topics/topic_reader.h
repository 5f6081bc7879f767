// Reads topics up to their current ends, and deletes topics: for `walrelay verify`, and for the
// demonstration, which verifies its result and cleans up.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "walrelay/clock.h"
#include "walrelay/sink_factory.h"

namespace walrelay {

struct KafkaConfig;

// Sorted by topic, partition, offset. A topic that does not exist has no records. With `since`,
// only the first record at that time or later and all records after it.
// Blocks, for each topic for at most `timeout`. All records are in memory at once (TopicScanner
// reads them one by one). Records that arrive after the start are not read. Errors: those of
// TopicScanner.
absl::StatusOr<std::vector<StoredRecord>> ReadTopics(const KafkaConfig& kafka,
                                                     const std::vector<std::string>& topics,
                                                     Micros timeout,
                                                     std::optional<WallTime> since = std::nullopt);

// Waits for the brokers' answer, at most `timeout`; they delete in the background. A topic that
// does not exist is not an error. Errors: WR-4001, WR-4006.
absl::Status DeleteTopics(const KafkaConfig& kafka, const std::vector<std::string>& topics,
                          Micros timeout);

}  // namespace walrelay
