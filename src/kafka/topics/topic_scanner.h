// TopicScanner: reads what topics have received since a time, record by record.
//
// Memory is bounded: a record exists during the call of the callback only, besides what the
// consumer has fetched ahead (see the .cc file). Reads committed records, without a group, up to
// the ends that the partitions have when a scan begins.
//
// Not thread-safe. Every call blocks.
#pragma once

#include <librdkafka/rdkafka.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "kafka/client/handles.h"
#include "walrelay/clock.h"
#include "walrelay/config.h"

namespace walrelay {

// A record, valid during the callback. Its key, value and headers refer to librdkafka's message.
// Null and empty ones are distinct.
class ScannedRecord {
 public:
  using Text = std::optional<std::string_view>;

  // `message` must outlive it.
  explicit ScannedRecord(const rd_kafka_message_t& message) : message_(message) {}

  int32_t partition() const { return message_.partition; }
  int64_t offset() const { return message_.offset; }
  Text key() const;
  Text value() const;
  // In milliseconds; nullopt if the record has none.
  std::optional<WallTime> timestamp() const;
  // The last header of this name; nullopt: there is none, or it is null.
  Text Header(const char* name) const;
  std::vector<std::pair<std::string_view, Text>> headers() const;

 private:
  const rd_kafka_message_t& message_;
};

class TopicScanner {
 public:
  using OnRecord = std::function<absl::Status(const ScannedRecord&)>;

  // Errors: those of MakeConsumerConf() and MakeClient().
  static absl::StatusOr<TopicScanner> Create(const KafkaConfig& kafka);

  // Reads all records of a topic; with `since`, of each partition the first one with that timestamp
  // or a later one, and all after it. `on_record` gets those of each partition in the order of
  // their offsets; its error ends the scan. A topic that does not exist has none. Returns why the
  // records do not count, because they may not be stored safely (kafka/topic_replicas.h); "": they
  // count. Errors: WR-4001, also after `timeout` or for a partition without a leader, WR-4005,
  // WR-4007.
  absl::StatusOr<std::string> Scan(const std::string& topic, std::optional<WallTime> since,
                                   Micros timeout, const OnRecord& on_record);

 private:
  explicit TopicScanner(KafkaClient client) : client_(std::move(client)) {}

  KafkaClient client_;
};

}  // namespace walrelay
