// The replicas of a topic's partitions: whether what was read of them is stored safely.
//
// A record that can be read is not always one that was acknowledged: brokers keep a record that
// they refused because too few replicas were in sync, and may lose it with the leader. Therefore a
// partition counts only while enough of its replicas are in sync, as reported after it was read,
// and by the leader that it was read from.
//
// Each function blocks until `deadline` at most.
#pragma once

#include <librdkafka/rdkafka.h>

#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "sinks/kafka/client/handles.h"

namespace walrelay {

// The time left, in librdkafka's unit: at least 1 ms.
int MillisBefore(std::chrono::steady_clock::time_point deadline);

// The metadata of one topic, from the brokers. Errors: WR-4001, WR-4004, WR-4005, WR-4007.
// REQUIRES: the client has the event RD_KAFKA_EVENT_ERROR, and only the caller reads its queue.
absl::StatusOr<KafkaMetadata> FetchTopic(rd_kafka_t* client, const std::string& topic,
                                         std::chrono::steady_clock::time_point deadline);

// The partitions in an answer of FetchTopic(), in no particular order.
std::span<const rd_kafka_metadata_partition> PartitionsIn(const struct rd_kafka_metadata& metadata);

// min.insync.replicas of a topic, with the brokers' default. nullopt: the user may not read
// settings (DESCRIBE_CONFIGS), or no answer came within two seconds.
std::optional<int64_t> ReadMinInSync(rd_kafka_t* client, const std::string& topic,
                                     std::chrono::steady_clock::time_point deadline);

// For each of `partitions`: whether the records read between the answers `before` and `after` are
// stored as safely as an acknowledged record. Reads the topic's settings only if they matter.
std::vector<bool> AreStoredSafely(rd_kafka_t* client, const std::string& topic,
                                  const struct rd_kafka_metadata& before,
                                  const struct rd_kafka_metadata& after,
                                  std::span<const int32_t> partitions,
                                  std::chrono::steady_clock::time_point deadline);

}  // namespace walrelay
