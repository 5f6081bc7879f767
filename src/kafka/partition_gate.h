// PartitionGate: one topic's partitions, and which of them know this producer.
//
// A broker refuses a batch whose predecessor is missing: idempotence rests on that. But from a
// producer that it does not know, a partition's leader takes any first batch, whatever its
// sequence. With several requests under way it may then take the second batch where it refused the
// first; librdkafka believes that the first is stored too, and reports it so. An event would be
// lost, or overtaken. So the first record of a partition travels alone: until it is acknowledged no
// second one enters.
//
// Leaders forget a producer that was silent for a day (`producer.id.expiration.ms`); after an hour
// of silence its next record counts as a first one again. So does the next record after a change of
// leader (Reclose).
//
// Pure; one thread. Source: Kafka, ProducerAppendInfo.checkSequence; librdkafka, idempotence in
// rd_kafka_handle_Produce_success. docs/decisions/0008.
#pragma once

#include <cstdint>
#include <vector>

#include "walrelay/clock.h"

namespace walrelay {

class PartitionGate {
 public:
  // After so long without a record a partition counts as one that does not know the producer.
  static constexpr Micros kSilence = std::chrono::hours(1);

  // Whether a record may enter now. If not, it may when reports for the partition have come.
  bool IsOpen(int32_t partition) const {
    return !Knows(partition) || partitions_[static_cast<size_t>(partition)].open();
  }

  // A record of the partition was accepted; it was acknowledged, or failed. REQUIRES: partition is
  // not negative, and below the topic's count; each report is of an accepted record.
  void OnAccepted(int32_t partition, MonoTime now);
  void OnDelivered(int32_t partition, MonoTime now);
  void OnFailed(int32_t partition);

  // The leader of the partition may not know the producer: what is in flight is waited for, then
  // the next record travels alone.
  void Reclose(int32_t partition);
  void RecloseAll();

 private:
  struct Partition {
    bool known = false;      // a record was acknowledged since the gate was last closed
    bool reclosing = false;  // closed again; what was in flight then is waited for
    uint32_t in_flight = 0;
    MonoTime last_used;

    bool open() const { return in_flight == 0 || (known && !reclosing); }
  };

  bool Knows(int32_t partition) const {
    return static_cast<size_t>(partition) < partitions_.size();
  }

  std::vector<Partition> partitions_;  // up to the highest that was used
};

}  // namespace walrelay
