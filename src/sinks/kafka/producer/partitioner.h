// The partition of a record: Java's partitioner (murmur2) for a key, walrelay's own rule without
// one.
#pragma once

#include <cstdint>
#include <string_view>

#include "walrelay/record.h"
#include "walrelay/sink.h"

// Source: org.apache.kafka.clients.producer.internals.BuiltInPartitioner, Utils.murmur2 and
// Utils.toPositive: existing consumers may rely on where Java's producer puts a key.
namespace walrelay {

// The partition of a record with this key in a topic with this number of partitions; -1 when it has
// none.
// Pure. An empty key is a key like any other: it always has the same partition.
int32_t JavaPartition(std::string_view key, int32_t partitions);

// The partition of a record in a topic with this number of partitions; not valid if that is 0.
// Records without a key need no order; those of one transaction stay together, which makes larger
// batches.
// `repeatable`: events are skipped, so that a record without a key needs the same partition after a
// restart: in another one, later events would make it appear stored. Numbers of transactions differ
// then, positions do not.
int32_t PartitionOf(const Record& record, DeliveryToken token, int32_t partitions, bool repeatable);

}  // namespace walrelay
