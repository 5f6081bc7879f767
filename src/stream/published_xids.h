// PublishedXids: which rows of a server's outbox tables are published, as a progress record proves.
//
// Rows outside of the range may be published, too: newer rows that no horizon covers yet, and rows
// from before the slot or from before an accepted gap.
//
// Pure.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>

#include "walrelay/clock.h"
#include "walrelay/progress.h"
#include "walrelay/replication_source.h"

namespace walrelay {

// Every row whose xmin is in [from.xid, before), and that was written after from.taken, is
// published, or was handled as configured (skipped, dead-lettered). An older row of a transaction
// that was still running may have been hidden from the stream: its table was not published yet. The
// xids have their epoch; of a row, Postgres shows the low 32 bits.
struct PublishedXids {
  // A timestamp without time zone may be of any zone: UTC+14 is the furthest ahead.
  static constexpr Micros kFurthestZone = std::chrono::hours(14);

  XidStart from;
  uint64_t before = 0;  // greater than from.xid
  WallTime as_of;       // when `before` was read

  // The number of xids before `before` that count: at most half of those with 32 bits, so that
  // rows from `before` on, whose xids are less than 2^31 greater, do not.
  uint32_t length() const {
    return static_cast<uint32_t>(std::min(before - from.xid, uint64_t{1} << 31));
  }
  // Whether they include the row with this xmin. Also true for some rows that are more than 2^31
  // transactions older: see decision 0021.
  bool Include(uint32_t xmin) const;

  friend bool operator==(const PublishedXids&, const PublishedXids&) = default;
};

// nullopt: the record proves nothing for rows of this server: it comes from another system, or from
// a timeline that is not an ancestor of the server's, the server's WAL ends before the recorded
// frontier (it was restored), or no horizon is from before the fork. A server that was restored on
// its timeline, and has grown past the frontier, is not recognized here: a relay recognizes it by
// the stream (WR-2204).
std::optional<PublishedXids> PublishedXidsOf(const Progress& record, const ServerInfo& server);

}  // namespace walrelay
