// Position: permanently identifies one row of the stream.
//
// The server decodes a transaction into the same sequence of rows each time, as long as the
// publication is the same. Therefore the commit LSN of its BEGIN and the row's ordinal identify a
// row across sessions and processes, and their order is the order of the stream. Row LSNs do not:
// rows of concurrent transactions interleave in the WAL.
#pragma once

#include <compare>
#include <cstdint>
#include <string>

#include "walrelay/lsn.h"

namespace walrelay {

// REQUIRES for a comparison: both positions are of the same cluster and timeline.
struct Position {
  Lsn commit_lsn;        // Begin.final_lsn
  uint64_t ordinal = 0;  // of the row in its transaction, of all tables, from 1

  friend auto operator<=>(const Position&, const Position&) = default;
};

}  // namespace walrelay
