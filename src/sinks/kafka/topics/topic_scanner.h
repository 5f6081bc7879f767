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
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "sinks/kafka/client/handles.h"
#include "walrelay/clock.h"
#include "walrelay/sink_factory.h"

namespace walrelay {

struct KafkaConfig;

// A record whose key, value and headers refer to librdkafka's message.
class ScannedRecord final : public TopicRecord {
 public:
  // `message` must outlive it.
  explicit ScannedRecord(const rd_kafka_message_t& message) : message_(message) {}

  int32_t partition() const override { return message_.partition; }
  int64_t offset() const override { return message_.offset; }
  Text key() const override;
  Text value() const override;
  std::optional<WallTime> timestamp() const override;
  Text Header(const char* name) const override;
  std::vector<std::pair<std::string_view, Text>> headers() const override;

 private:
  const rd_kafka_message_t& message_;
};

class TopicScanner final : public TopicReader {
 public:
  // Errors: those of MakeConsumerConf() and MakeClient().
  static absl::StatusOr<TopicScanner> Create(const KafkaConfig& kafka);

  // A topic's copies are not safe where sinks/kafka/topics/topic_replicas.h says so.
  absl::StatusOr<std::string> Scan(const std::string& topic, std::optional<WallTime> since,
                                   Micros timeout, const OnRecord& on_record) override;

 private:
  explicit TopicScanner(KafkaClient client) : client_(std::move(client)) {}

  KafkaClient client_;
};

}  // namespace walrelay
