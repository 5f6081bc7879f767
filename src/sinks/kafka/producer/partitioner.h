// Java's partitioner (murmur2).
#pragma once

#include <cstdint>
#include <string_view>

// Source: org.apache.kafka.clients.producer.internals.BuiltInPartitioner, Utils.murmur2 and
// Utils.toPositive: existing consumers may rely on where Java's producer puts a key.
namespace walrelay {

// The partition of a record with this key in a topic with this number of partitions; -1 when it has
// none.
// Pure. An empty key is a key like any other: it always has the same partition.
int32_t JavaPartition(std::string_view key, int32_t partitions);

}  // namespace walrelay
