// Java's partitioner (murmur2), and a look at what it chose.
//
// librdkafka calls the partitioner within a produce call, on the thread of the caller, when it
// knows the topic; and later, on a thread of its own, when it does not. Only the first is seen
// here.
#pragma once

#include <librdkafka/rdkafka.h>

#include <cstdint>
#include <string_view>

namespace walrelay {

struct PartitionChoice {
  int32_t partition = -1;  // -1: not chosen yet
  int32_t partitions = 0;  // of the topic, at that moment
};

void UseJavaPartitioner(rd_kafka_topic_conf_t* conf);

// Where a record of this key goes while the topic has so many partitions; -1 when it has none.
int32_t JavaPartition(std::string_view key, int32_t partitions);

// While it lives, produce calls of this thread leave their choice in `choice`.
class ChoiceObserver {
 public:
  explicit ChoiceObserver(PartitionChoice& choice);
  ~ChoiceObserver();

  ChoiceObserver(const ChoiceObserver&) = delete;
  ChoiceObserver& operator=(const ChoiceObserver&) = delete;
};

}  // namespace walrelay
