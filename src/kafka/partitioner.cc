#include "kafka/partitioner.h"

namespace walrelay {
namespace {

thread_local PartitionChoice* observed = nullptr;

int32_t Choose(const rd_kafka_topic_t* topic, const void* key, size_t size, int32_t partitions,
               void* topic_opaque, void* message_opaque) {
  const int32_t partition =
      rd_kafka_msg_partitioner_murmur2(topic, key, size, partitions, topic_opaque, message_opaque);
  if (observed != nullptr) {
    *observed = {.partition = partition, .partitions = partitions};
  }
  return partition;
}

}  // namespace

void UseJavaPartitioner(rd_kafka_topic_conf_t* conf) {
  rd_kafka_topic_conf_set_partitioner_cb(conf, &Choose);
}

int32_t JavaPartition(std::string_view key, int32_t partitions) {
  return partitions <= 0 ? -1
                         : rd_kafka_msg_partitioner_murmur2(nullptr, key.data(), key.size(),
                                                            partitions, nullptr, nullptr);
}

ChoiceObserver::ChoiceObserver(PartitionChoice& choice) {
  observed = &choice;
}

ChoiceObserver::~ChoiceObserver() {
  observed = nullptr;
}

}  // namespace walrelay
