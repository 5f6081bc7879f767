#include "kafka/partition_gate.h"

namespace walrelay {
namespace {

constexpr Micros kForgotten = std::chrono::hours(1);

}  // namespace

void PartitionGate::OnAccepted(int32_t partition, MonoTime now) {
  if (partition < 0) {
    return;
  }
  Partition& used = partitions_[partition];
  if (used.state == State::kUnknown || now - used.last_used > kForgotten) {
    used.state = State::kFirstInFlight;
  }
  used.last_used = now;
}

void PartitionGate::OnDelivered(int32_t partition, MonoTime now) {
  if (partition >= 0) {
    partitions_[partition] = {.state = State::kKnown, .last_used = now};
  }
}

}  // namespace walrelay
