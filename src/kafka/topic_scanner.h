// TopicScanner: reads what topics have received since a time, record by record.
//
// Memory is bounded: a record exists during the call of the callback only. Reads committed records,
// without a group, up to the ends that the partitions have when a scan begins.
//
// Not thread-safe. Every call blocks.
#pragma once

#include <librdkafka/rdkafka.h>

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "kafka/handles.h"
#include "walrelay/clock.h"
#include "walrelay/config.h"

namespace walrelay {

// What of a record identifies its event. The views are valid during the callback.
struct ScannedRecord {
  std::optional<std::string_view> key;
  std::optional<std::string_view> value;
  std::optional<std::string_view> id;  // the last header "id"
};

class TopicScanner {
 public:
  using OnRecord = std::function<void(const ScannedRecord&)>;

  // Errors: those of MakeConsumerConf() and MakeClient().
  static absl::StatusOr<TopicScanner> Create(const KafkaConfig& kafka);

  // Reads all records of a topic; with `since`, of each partition the first one with that timestamp
  // or a later one, and all after it. A topic that does not exist has none. Returns why the records
  // do not count, because they may not be stored safely (kafka/topic_replicas.h); "": they count.
  // Errors: WR-4001, also after `timeout` or for a partition without a leader, WR-4005, WR-4007.
  absl::StatusOr<std::string> Scan(const std::string& topic, std::optional<WallTime> since,
                                   Micros timeout, const OnRecord& on_record);

 private:
  explicit TopicScanner(KafkaClient client) : client_(std::move(client)) {}

  KafkaClient client_;
};

}  // namespace walrelay
