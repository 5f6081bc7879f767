// Rehearse: what the relay would publish, handed to another producer than Kafka's.
//
// The relay's own way from a message to a record. Postgres is only read: the slot stays where it is
// and may be in use (postgres/slot_copy.h), nothing is confirmed.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "walrelay/config.h"
#include "walrelay/producer.h"

namespace walrelay {

struct Scope {
  bool follow = false;           // what is committed from now on; else from the slot's position
  std::vector<std::string> ids;  // these rows of the tables instead
  uint64_t limit = 0;            // 0: all there is; from now on: without end
  // Asked now and then while nothing comes from now on. May be empty.
  std::function<bool()> enough;
};

// `producer` accepts every record, and reports it as delivered at its next Poll(). Blocks; returns
// how many records there were. What the relay would refuse is an error in the same words.
absl::StatusOr<uint64_t> Rehearse(const Config& config, const Scope& scope, Producer& producer);

}  // namespace walrelay
