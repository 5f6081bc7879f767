// XidHorizon: which rows are published, in terms of their xmin.
//
// Source: Postgres documentation, "Transaction ID and Snapshot Information Functions".
#pragma once

#include <cstdint>

#include "walrelay/clock.h"
#include "walrelay/lsn.h"

namespace walrelay {

// Once everything before `insert_lsn` is published, every row whose xmin is less than `xid` is
// published or was rolled back: each of these transactions had ended, and its COMMIT precedes
// `insert_lsn`. Unlike a position, this also holds after a promotion.
struct XidHorizon {
  uint64_t xid = 0;  // pg_snapshot_xmin(pg_current_snapshot()), with its epoch
  Lsn insert_lsn;    // pg_current_wal_insert_lsn(), read after it
  WallTime taken;    // by the server's clock

  friend bool operator==(const XidHorizon&, const XidHorizon&) = default;
};

}  // namespace walrelay
