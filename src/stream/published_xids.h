// PublishedXids: which rows of a server's outbox tables are published, as a progress record proves.
//
// What is not in the range may be published, too: newer rows that no horizon covers yet, and rows
// from before the slot or from before an accepted gap.
//
// Pure.
#pragma once

#include <cstdint>
#include <optional>

#include "walrelay/clock.h"
#include "walrelay/progress.h"
#include "walrelay/replication_source.h"

namespace walrelay {

// Every row whose xmin is in [from.xid, before) is published, or was handled as configured
// (skipped, dead-lettered). The xids have their epoch; of a row, Postgres shows the low 32 bits.
struct PublishedXids {
  XidStart from;
  uint64_t before = 0;  // greater than from.xid
  WallTime as_of;       // when `before` was read

  friend bool operator==(const PublishedXids&, const PublishedXids&) = default;
};

// nullopt: the record proves nothing for rows of this server: it is of another system, or of a
// timeline that is no ancestor of the server's, the server's WAL ends before the recorded frontier
// (it was restored), or no horizon is from before the fork. A server that was restored on its
// timeline, and has grown past the frontier, is not recognized here: a running relay does
// (WR-2204).
std::optional<PublishedXids> PublishedXidsOf(const Progress& record, const ServerInfo& server);

}  // namespace walrelay
