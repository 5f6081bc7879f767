#include "sinks/kafka/producer/partitioner.h"

#include <librdkafka/rdkafka.h>

#include <algorithm>
#include <array>

#include "base/endian.h"

namespace walrelay {

// librdkafka's function does not use its other arguments; it returns what Java's producer does,
// also for an empty key.
int32_t JavaPartition(std::string_view key, int32_t partitions) {
  return partitions <= 0 ? -1
                         : rd_kafka_msg_partitioner_murmur2(nullptr, key.data(), key.size(),
                                                            partitions, nullptr, nullptr);
}

int32_t PartitionOf(const Record& record, DeliveryToken token, int32_t partitions,
                    bool repeatable) {
  if (record.partition) {
    return *record.partition;
  }
  if (record.key) {
    return JavaPartition(*record.key, partitions);
  }
  if (repeatable && record.position) {
    std::array<char, sizeof(uint64_t)> transaction;
    StoreBigEndian(record.position->position.commit_lsn.value(), transaction.data());
    return JavaPartition({transaction.data(), transaction.size()}, partitions);
  }
  return static_cast<int32_t>(token.transaction % static_cast<uint32_t>(std::max(partitions, 1)));
}

}  // namespace walrelay
