// TopicPartitions: how many partitions a topic has, who leads them, and what may be sent now.
//
// The producer chooses each record's partition from the count that is kept here, never from the one
// that librdkafka has learned by itself. So a changed count takes effect at a moment that we
// decide: when nothing of the topic is in flight. Until then no record enters. A key's records
// before the change are then acknowledged before its first record after it is sent.
//
// A topic with fewer partitions than before was deleted and created again: what is in flight to a
// partition that is gone will never be acknowledged. `stranded()` says so; the producer must be
// given up.
//
// Pure; one thread.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "kafka/partition_gate.h"
#include "walrelay/clock.h"

namespace walrelay {

class TopicPartitions {
 public:
  struct CountChange {
    int32_t before = 0;
    int32_t now = 0;
  };

  int32_t count() const { return count_; }
  size_t in_flight() const { return in_flight_; }

  // What the brokers say: the leader of each partition, -1 for none at the moment. A partition
  // whose leader changed gets one record alone; returns how many those are. No partition at all
  // says nothing: the topic is being created.
  int Learn(std::span<const int32_t> leaders);
  // The brokers say that the topic does not exist. If it appears again it is another one, whose
  // partitions do not know the producer.
  void OnMissing() { gate_.RecloseAll(); }

  // Whether a record may enter the partition now. If not, it may when reports have come.
  bool MayEnter(int32_t partition) const { return !changing() && gate_.IsOpen(partition); }

  // REQUIRES: as PartitionGate.
  void OnAccepted(int32_t partition, MonoTime now);
  void OnDelivered(int32_t partition, MonoTime now);
  void OnFailed(int32_t partition);

  // A changed count waits until nothing is in flight.
  bool changing() const { return waiting_count_.has_value(); }
  // Once nothing is in flight: the change of the count that has now taken effect. Once for each.
  std::optional<CountChange> TakeCountChange();
  // Records are in flight to a partition that no longer exists.
  bool stranded() const { return changing() && *waiting_count_ < count_ && in_flight_ > 0; }

 private:
  int32_t count_ = 0;                     // 0: not known yet
  std::optional<int32_t> waiting_count_;  // takes effect when nothing is in flight
  size_t in_flight_ = 0;
  std::vector<int32_t> leaders_;  // last known of each partition, -1: none yet
  PartitionGate gate_;
};

}  // namespace walrelay
