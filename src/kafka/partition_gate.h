// PartitionGate: one topic's partitions, and which of them know this producer.
//
// A broker refuses a batch whose predecessor is missing: that is what idempotence rests on. But of
// a producer that it does not know yet, a partition's leader takes any first batch, whatever its
// sequence. With several requests under way the second batch may thus be taken where the first was
// refused; librdkafka then believes that the first is stored too, and reports it so. An event would
// be lost, or overtaken. So the first record of a partition travels alone: until it is acknowledged
// no second one enters.
//
// Leaders forget a producer that was silent for a day (`producer.id.expiration.ms`); after an hour
// of silence its next record counts as a first one again.
//
// Pure; one thread. Source: Kafka, ProducerAppendInfo.checkSequence; librdkafka, idempotence in
// rd_kafka_handle_Produce_success. docs/decisions/0008.
#pragma once

#include <cstdint>

#include "absl/container/flat_hash_map.h"
#include "walrelay/clock.h"

namespace walrelay {

class PartitionGate {
 public:
  // Whether a record may enter now; else when a report for the partition has come.
  bool IsOpen(int32_t partition) const {
    const auto used = partitions_.find(partition);
    return used == partitions_.end() || used->second.state != State::kFirstInFlight;
  }

  // A record of the partition was accepted, or was acknowledged. A partition below zero is one that
  // is not known yet, of which nothing is remembered.
  void OnAccepted(int32_t partition, MonoTime now);
  void OnDelivered(int32_t partition, MonoTime now);

 private:
  enum class State { kUnknown, kFirstInFlight, kKnown };
  struct Partition {
    State state = State::kUnknown;
    MonoTime last_used;
  };

  absl::flat_hash_map<int32_t, Partition> partitions_;  // that were used
};

}  // namespace walrelay
