// Ranges of records, and a consumer that reads them.
//
// The brokers are asked for the end of a partition before its records are read: only its leader
// knows the end, while records may come from a replica that lags.
//
// Source: rdkafka.h, rd_kafka_offsets_for_times and RD_KAFKA_RESP_ERR__PARTITION_EOF; the request
// ListOffsets of Kafka's protocol, in which the times -2 and -1 are the two ends.
#pragma once

#include <librdkafka/rdkafka.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "sinks/kafka/client/handles.h"
#include "walrelay/clock.h"

namespace walrelay {

// The records of a partition from `begin` up to `end`. Not each offset has a record: of a compacted
// topic, old ones are missing.
struct PartitionRange {
  std::string topic;
  int32_t partition = 0;
  int64_t begin = 0;
  int64_t end = 0;
};

// The first or the next offset of each partition: `which` is RD_KAFKA_OFFSET_BEGINNING or _END. One
// request for each leader. Blocks for at most `millis`. An error of a single partition is in its
// element of the result. Errors: WR-4001, WR-4004, WR-4005.
// REQUIRES: there is at least one partition.
absl::StatusOr<KafkaPartitionList> QueryOffsets(rd_kafka_t* client,
                                                const rd_kafka_topic_partition_list_t& partitions,
                                                int64_t which, int millis);

// The offset of a partition in a result of QueryOffsets(). -1: the partition has an error, or is
// not in the result.
int64_t OffsetOf(const rd_kafka_topic_partition_list_t& offsets, const std::string& topic,
                 int32_t partition);

// All records that the partition has now; with an isolation level of read_committed, which is the
// default, those before the first open transaction. Blocks for at most `millis`. Errors: WR-4001,
// WR-4004, WR-4005.
absl::StatusOr<PartitionRange> QueryRange(rd_kafka_t* client, const std::string& topic,
                                          int32_t partition, int millis);

// The same, asked for until brokers answer or the time is up; returns within two seconds after a
// request to stop. Errors: also kCancelled.
absl::StatusOr<PartitionRange> AwaitRange(rd_kafka_t* client, const std::string& topic,
                                          std::chrono::steady_clock::time_point deadline,
                                          const std::stop_token& stop);

// When a reading gives up.
struct ReadLimits {
  std::chrono::steady_clock::time_point deadline;
  // How long to wait for a record or a change of `arrived`; nullopt: only the deadline counts.
  std::optional<Micros> patience;
  // Grows while brokers send records or markers of transactions, which are not records; may be
  // empty. Called on the reading thread.
  std::function<uint64_t()> arrived;
};

// Reads the ranges by assignment, without a group: nothing is committed, and reading leaves no
// trace on the brokers. `on_record` gets the records of each partition in the order of their
// offsets, and none after the end; its error ends the reading. Errors: WR-4001 when a limit is
// reached, with how far it came, WR-4005, kCancelled within 200 ms after a request to stop.
// REQUIRES: `consumer` has a configuration of MakeConsumerConf() and reads nothing else; at most
// one range for a partition.
absl::Status ReadRanges(rd_kafka_t* consumer, const std::vector<PartitionRange>& ranges,
                        const ReadLimits& limits, const std::stop_token& stop,
                        const std::function<absl::Status(const rd_kafka_message_t&)>& on_record);

}  // namespace walrelay
