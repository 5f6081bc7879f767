// Reads topics up to their current ends, and deletes topics: for `walrelay verify`, and for the
// demonstration, which verifies its result and cleans up.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "walrelay/clock.h"
#include "walrelay/config.h"

namespace walrelay {

// A record as it is stored, copied out of librdkafka's message.
// `timestamp` has milliseconds; absent if the record has none. Null and empty keys and values are
// distinct.
struct StoredRecord {
  std::string topic;
  int32_t partition = 0;
  int64_t offset = 0;
  std::optional<std::string> key;
  std::optional<std::string> value;
  std::vector<std::pair<std::string, std::optional<std::string>>> headers;
  std::optional<WallTime> timestamp;
};

// Sorted by topic, partition, offset. A topic that does not exist has no records. With `since`,
// only the first record at that time or later and all records after it.
// Blocks: `timeout` applies to each request, and to the reading as a whole. All records are in
// memory at once. Records that arrive after the start are not read. Errors: WR-4001, also after the
// timeout, WR-4004, WR-4005, WR-4006, WR-1005.
absl::StatusOr<std::vector<StoredRecord>> ReadTopics(const KafkaConfig& kafka,
                                                     const std::vector<std::string>& topics,
                                                     Micros timeout,
                                                     std::optional<WallTime> since = std::nullopt);

// The records of one topic, without holding them: `on_record` gets those of each partition in the
// order of their offsets; its error ends the reading. `timeout` applies to each request, `deadline`
// to the reading as a whole. Otherwise like ReadTopics().
absl::Status ReadEachRecord(const KafkaConfig& kafka, const std::string& topic, Micros timeout,
                            Micros deadline,
                            const std::function<absl::Status(StoredRecord)>& on_record);

// Waits for the brokers' answer, at most `timeout`; they delete in the background. A topic that
// does not exist is no error. Errors: WR-4001, WR-4006.
absl::Status DeleteTopics(const KafkaConfig& kafka, const std::vector<std::string>& topics,
                          Micros timeout);

}  // namespace walrelay
