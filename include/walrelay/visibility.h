// Visibility: the seam through which the relay queries which commits other Postgres sessions can
// see.
//
// A walsender sends a commit as soon as its WAL is flushed. Postgres removes the transaction from
// the list of running transactions only after that, and after the synchronous standbys confirm it.
// Until then no other session sees its rows.
//
// Source: Postgres, src/backend/access/transam/xact.c, CommitTransaction (RecordTransactionCommit,
// which contains XLogFlush and SyncRepWaitForLSN, comes before ProcArrayEndTransaction);
// twophase.c, FinishPreparedTransaction, for COMMIT PREPARED.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/status/statusor.h"

namespace walrelay {

// pg_current_snapshot(): the transactions that had ended at that time. Xids are 64 bits wide
// (xid8), and of top-level transactions only.
// Sorted and bounded as Postgres prints it; see ParseSnapshot().
// A subtransaction's xid is not listed: check its top-level transaction.
struct XidSnapshot {
  uint64_t xmin = 0;                  // all lower xids had ended
  uint64_t xmax = 0;                  // neither this xid nor a higher one had ended
  std::vector<uint64_t> in_progress;  // xids in between that had not ended, ascending
};

// Reads snapshots on a separate connection, one at a time. Owned by the process, used only by the
// relay's thread. No call blocks.
class SnapshotSource {
 public:
  // Closes the connection.
  virtual ~SnapshotSource() = default;

  // Requests a snapshot that is taken after this call, on the server whose process `walsender_pid`
  // streams the slot to this relay. Connects first if not connected to that server.
  // REQUIRES: no request is pending.
  virtual void Request(int walsender_pid) = 0;

  // The snapshot; nullopt while the request is pending. An error ends the request and closes the
  // connection: WR-2005 (ConnectionLost) if another process or none reads the slot, because then
  // the stream has ended or this is a different server; otherwise WR-2014 (VisibilityUnknown).
  // REQUIRES: a request is pending.
  virtual absl::StatusOr<std::optional<XidSnapshot>> Poll() = 0;

  // Cancels the pending request, if any, and closes the connection.
  virtual void Close() = 0;

  // The socket while a request is pending, otherwise -1; and whether to wait until it is writable
  // rather than readable.
  virtual int poll_fd() const = 0;
  virtual bool wants_write() const = 0;
};

}  // namespace walrelay
