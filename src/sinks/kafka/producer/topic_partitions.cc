#include "sinks/kafka/producer/topic_partitions.h"

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace walrelay {

// Only an answer from the brokers changes leaders; errors do not. A leader of -1 is an election in
// progress.
int TopicPartitions::Learn(std::span<const int32_t> leaders) {
  const auto told = static_cast<int32_t>(leaders.size());
  // A topic always has a partition: such an answer says nothing.
  if (told == 0) {
    return 0;
  }
  if (count_ == 0) {
    count_ = told;
  }
  most_ = std::max(most_, told);
  // An answer with the old count cancels a change that has not taken effect: a broker with older
  // metadata may have sent the other one.
  waiting_count_ = told != count_ ? std::optional(told) : std::nullopt;
  leaders_.resize(leaders.size(), -1);
  int changed = 0;
  for (int32_t partition = 0; partition < told; ++partition) {
    const int32_t leader = leaders[static_cast<size_t>(partition)];
    int32_t& known = leaders_[static_cast<size_t>(partition)];
    if (leader < 0) {
      continue;
    }
    if (known >= 0 && known != leader) {
      gate_.Reclose(partition);
      ++changed;
    }
    known = leader;
  }
  return changed;
}

void TopicPartitions::OnAccepted(int32_t partition, MonoTime now) {
  WR_CHECK(MayEnter(partition), "a record enters a partition that is open");
  WR_CHECK(partition < count_, "a record enters a partition that exists");
  gate_.OnAccepted(partition, now);
  ++in_flight_;
}

void TopicPartitions::OnDelivered(int32_t partition, MonoTime now) {
  WR_CHECK(in_flight_ > 0, "each record is reported once");
  gate_.OnDelivered(partition, now);
  --in_flight_;
}

void TopicPartitions::OnFailed(int32_t partition) {
  WR_CHECK(in_flight_ > 0, "each record is reported once");
  gate_.OnFailed(partition);
  --in_flight_;
}

// Waiting until nothing is in flight keeps the order of each key: its earlier records are
// acknowledged before a record goes to another partition.
std::optional<TopicPartitions::CountChange> TopicPartitions::TakeCountChange() {
  if (!waiting_count_ || in_flight_ > 0) {
    return std::nullopt;
  }
  const int32_t now = *std::exchange(waiting_count_, std::nullopt);
  const CountChange change{.before = std::exchange(count_, now), .now = now};
  if (change.now < change.before) {
    most_ = change.now;
    gate_ = PartitionGate();  // a different topic of the same name
  }
  return change;
}

}  // namespace walrelay
