// PartitionGate: tracks which partitions of a topic know this producer.
//
// A broker rejects a batch whose predecessor is missing: idempotence depends on that. But from a
// producer that it does not know, a partition's leader accepts any first batch, whatever its
// sequence. With several requests in flight it may therefore accept the second batch after it
// rejected the first; librdkafka then assumes that the first is stored too, and reports it as
// delivered. An event would be lost or reordered. Therefore the first record of a partition is sent
// alone: no second record enters until it is acknowledged.
//
// Leaders forget a producer that was silent for a day (`producer.id.expiration.ms`); after an hour
// of silence the next record of a partition counts as a first one again. So does the next record
// after a change of leader (Reclose).
//
// Pure; single-threaded. Source: Kafka, ProducerAppendInfo.checkSequence; librdkafka, idempotence
// in rd_kafka_handle_Produce_success. docs/decisions/0008.
#pragma once

#include <cstdint>
#include <vector>

#include "walrelay/clock.h"

namespace walrelay {

class PartitionGate {
 public:
  // After this time without a record, a partition is assumed not to know the producer.
  static constexpr Micros kSilence = std::chrono::hours(1);

  // Whether a record may enter now. If not, ask again after reports for the partition have arrived.
  bool IsOpen(int32_t partition) const {
    return !Knows(partition) || partitions_[static_cast<size_t>(partition)].open();
  }

  // A record of the partition was accepted; it was acknowledged, or it failed. REQUIRES: partition
  // is not negative, and below the topic's count; each report concerns an accepted record.
  void OnAccepted(int32_t partition, MonoTime now);
  void OnDelivered(int32_t partition, MonoTime now);
  void OnFailed(int32_t partition);

  // Calls `visit` with the number of each partition that has records in flight.
  template <typename Visit>
  void ForEachInFlight(const Visit& visit) const {
    for (size_t i = 0; i < partitions_.size(); ++i) {
      if (partitions_[i].in_flight > 0) {
        visit(static_cast<int32_t>(i));
      }
    }
  }

  // The leader of the partition may not know the producer: the records in flight are awaited, then
  // the next record is sent alone.
  void Reclose(int32_t partition);
  void RecloseAll();

 private:
  // The state of one partition.
  struct Partition {
    bool known = false;      // a record was acknowledged since the gate was last closed
    bool reclosing = false;  // closed again; the records in flight at that time are awaited
    uint32_t in_flight = 0;
    MonoTime last_used;

    // With nothing in flight the next record is alone in any case.
    bool open() const { return in_flight == 0 || (known && !reclosing); }
  };

  bool Knows(int32_t partition) const {
    return static_cast<size_t>(partition) < partitions_.size();
  }

  // By number; grows up to the highest partition used.
  std::vector<Partition> partitions_;  // up to the highest one used
};

}  // namespace walrelay
