#include "sinks/kafka/producer/partition_gate.h"

#include "base/check.h"

namespace walrelay {

// The gate closes when a record enters a partition that may not know the producer, and opens with
// the first acknowledgement.
void PartitionGate::OnAccepted(int32_t partition, MonoTime now) {
  WR_CHECK(IsOpen(partition), "a record enters through an open gate");
  WR_CHECK(partition >= 0, "a record is accepted for a partition");
  if (!Knows(partition)) {
    partitions_.resize(static_cast<size_t>(partition) + 1);
  }
  Partition& used = partitions_[static_cast<size_t>(partition)];
  // The records in flight at the time of Reclose() are done: this record is the one that is sent
  // alone.
  const bool reclosed = used.reclosing && used.in_flight == 0;
  if (reclosed || now - used.last_used > kSilence) {
    used.known = false;
  }
  used.reclosing = used.reclosing && !reclosed;
  ++used.in_flight;
  used.last_used = now;
}

// Also the end of a record in flight, like a failure.
void PartitionGate::OnDelivered(int32_t partition, MonoTime now) {
  OnFailed(partition);
  Partition& used = partitions_[static_cast<size_t>(partition)];
  used.known = true;
  used.last_used = now;
}

// A failure opens nothing: the producer has failed, and the next one starts with a new gate.
void PartitionGate::OnFailed(int32_t partition) {
  WR_CHECK(partition >= 0 && Knows(partition), "each report concerns an accepted record");
  Partition& used = partitions_[static_cast<size_t>(partition)];
  WR_CHECK(used.in_flight > 0, "each record is reported once");
  --used.in_flight;
}

// A partition without a record so far has nothing to close: its first record is alone anyway.
void PartitionGate::Reclose(int32_t partition) {
  if (Knows(partition)) {
    partitions_[static_cast<size_t>(partition)].reclosing = true;
  }
}

void PartitionGate::RecloseAll() {
  for (Partition& used : partitions_) {
    used.reclosing = true;
  }
}

}  // namespace walrelay
