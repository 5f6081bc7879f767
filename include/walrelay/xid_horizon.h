// XidHorizon: which rows are published, in terms of their xmin; XidReading: where it comes from.
//
// Source: Postgres documentation, "Transaction ID and Snapshot Information Functions".
#pragma once

#include <cstdint>
#include <string>

#include "walrelay/clock.h"
#include "walrelay/lsn.h"
#include "walrelay/publication_identity.h"

namespace walrelay {

// Once everything before `insert_lsn` is published, every row whose xmin is less than `xid` is
// published, was rolled back, or was written before the slot existed: each of these transactions
// had ended, and its COMMIT precedes `insert_lsn`. Unlike a position, this also holds after a
// promotion.
struct XidHorizon {
  uint64_t xid = 0;  // pg_snapshot_xmin(pg_current_snapshot()), with its epoch
  Lsn insert_lsn;    // pg_current_wal_insert_lsn(), read after it
  WallTime taken;    // by the server's clock

  friend bool operator==(const XidHorizon&, const XidHorizon&) = default;
};

// No transaction with this xid or a greater one had ended at that time.
struct XidStart {
  uint64_t xid = 0;  // pg_snapshot_xmax(pg_current_snapshot()), with its epoch
  WallTime taken;    // by the server's clock

  bool valid() const { return xid != 0; }
  friend bool operator==(const XidStart&, const XidStart&) = default;
};

// A horizon as read from a server by an ordinary connection, which may have reached another server
// than the stream. REQUIRES of the reader: all of it is of one connection; horizon, next and
// timeline are of one statement, and the publication is read after it.
struct XidReading {
  XidHorizon horizon;
  XidStart next;
  std::string system_id;  // "": unknown
  uint32_t timeline = 0;
  // Rows before the horizon were hidden from the stream only if this differs from what the stream
  // started with.
  PublicationIdentity publication;
};

}  // namespace walrelay
