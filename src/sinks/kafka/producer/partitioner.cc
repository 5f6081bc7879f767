#include "sinks/kafka/producer/partitioner.h"

#include <librdkafka/rdkafka.h>

namespace walrelay {

// librdkafka's function does not use its other arguments; it returns what Java's producer does,
// also for an empty key.
int32_t JavaPartition(std::string_view key, int32_t partitions) {
  return partitions <= 0 ? -1
                         : rd_kafka_msg_partitioner_murmur2(nullptr, key.data(), key.size(),
                                                            partitions, nullptr, nullptr);
}

}  // namespace walrelay
