// TopicPartitions: a topic's partition count and leaders, and whether a record may be sent now.
//
// The producer chooses each record's partition from the count kept here, never from the count that
// librdkafka has learned on its own. A changed count therefore takes effect at a time that we
// choose: when nothing of the topic is in flight. Until then no record enters. A key's records from
// before the change are thus acknowledged before its first record after the change is sent.
//
// A topic with fewer partitions than before was deleted and recreated: records in flight to a
// missing partition will never be acknowledged. `stranded()` reports this; the producer must be
// abandoned.
//
// Pure; single-threaded.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "sinks/kafka/producer/partition_gate.h"
#include "walrelay/clock.h"

namespace walrelay {

class TopicPartitions {
 public:
  struct CountChange {
    int32_t before = 0;
    int32_t now = 0;
  };

  // Where a partition stands, by everything that brokers have reported.
  enum class Place {
    kExists,   // MayEnter() says whether a record may be sent now
    kWaits,    // brokers have reported it, but the count that includes it has not taken effect
    kMissing,  // no answer has had it
  };
  Place Where(int32_t partition) const {
    return partition < 0 || partition >= most_ ? Place::kMissing
           : partition < count_                ? Place::kExists
                                               : Place::kWaits;
  }

  // 0 before the first answer of the brokers: no partition exists then, and no record may enter.
  int32_t count() const { return count_; }
  size_t in_flight() const { return in_flight_; }
  template <typename Visit>
  void ForEachInFlight(const Visit& visit) const {
    gate_.ForEachInFlight(visit);
  }

  // Processes the brokers' answer: the leader of each partition, -1 for none at the moment. The
  // next record of a partition whose leader changed is sent alone; returns the number of such
  // partitions. An answer without partitions is ignored: the topic is being created.
  int Learn(std::span<const int32_t> leaders);
  // The brokers report that the topic does not exist. If it appears again, it is a different topic,
  // whose partitions do not know the producer.
  void OnMissing() { gate_.RecloseAll(); }

  // Whether a record may enter the partition now. If not, ask again after reports have arrived.
  bool MayEnter(int32_t partition) const { return !changing() && gate_.IsOpen(partition); }

  // REQUIRES: as PartitionGate.
  void OnAccepted(int32_t partition, MonoTime now);
  void OnDelivered(int32_t partition, MonoTime now);
  void OnFailed(int32_t partition);

  // A changed count waits until nothing is in flight.
  bool changing() const { return waiting_count_.has_value(); }
  // Once nothing is in flight: the change of the count that now takes effect. Returned once per
  // change.
  std::optional<CountChange> TakeCountChange();
  // Records are in flight to a partition that no longer exists.
  bool stranded() const { return changing() && *waiting_count_ < count_ && in_flight_ > 0; }

 private:
  // 0 until the first answer: no record may enter.
  int32_t count_ = 0;                     // 0: unknown
  std::optional<int32_t> waiting_count_;  // takes effect when nothing is in flight
  // The largest count of an answer, until a smaller one takes effect: a broker with older metadata
  // does not make a partition disappear.
  int32_t most_ = 0;
  size_t in_flight_ = 0;
  // Leaders that are known stay known while a partition has none: a partition that comes back with
  // the same leader has not forgotten the producer.
  std::vector<int32_t> leaders_;  // last known of each partition, -1: none yet
  PartitionGate gate_;
};

}  // namespace walrelay
