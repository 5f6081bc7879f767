// NewSlot: a slot that was just created, and the snapshot that it exports.
#pragma once

#include <cstdint>
#include <string>

#include "walrelay/clock.h"
#include "walrelay/lsn.h"

namespace walrelay {

// A row is either visible in the snapshot, or in the slot's stream: the snapshot shows exactly the
// transactions that committed before the slot's position.
struct NewSlot {
  Lsn position;          // the consistent point, where the stream begins
  std::string snapshot;  // for SET TRANSACTION SNAPSHOT, while the slot's creator keeps it
  // The xids of the snapshot, with their epoch: every transaction before `xmin` had ended, and none
  // from `xmax` on had.
  uint64_t xmin = 0;
  uint64_t xmax = 0;
  WallTime taken;  // by the server's clock
  // The server that has the slot.
  std::string system_id;
  uint32_t timeline = 0;
};

}  // namespace walrelay
