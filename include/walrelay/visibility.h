// Visibility: the seam through which the relay asks Postgres which commits other sessions can see.
//
// A walsender sends a commit as soon as its WAL is flushed. The transaction leaves the list of
// running transactions only after that, and after the synchronous standbys have confirmed it. Until
// then no other session sees its rows.
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

// pg_current_snapshot(): which transactions had ended when it was taken. Xids are 64 bits wide
// (xid8), and of top-level transactions only.
struct XidSnapshot {
  uint64_t xmin = 0;                  // all lower xids had ended
  uint64_t xmax = 0;                  // neither this xid nor a higher one had ended
  std::vector<uint64_t> in_progress;  // ascending; of those between, the ones that had not ended
};

// Takes snapshots on a connection of its own, one at a time. Owned by the process, used by the
// relay's thread alone. No call blocks.
class SnapshotSource {
 public:
  virtual ~SnapshotSource() = default;

  // Asks for a snapshot that is taken after this call, on the server whose process `walsender_pid`
  // streams the slot to this relay. Connects first where there is no connection to it.
  // REQUIRES: no question is under way.
  virtual void Ask(int walsender_pid) = 0;

  // The answer; nullopt while it is under way. An error ends the question and closes the
  // connection: WR-2004 (ConnectionLost) when another process or none reads the slot, so that the
  // stream has ended or the server is another one; else WR-2014 (VisibilityUnknown). REQUIRES: a
  // question is under way.
  virtual absl::StatusOr<std::optional<XidSnapshot>> Poll() = 0;

  // Ends the question, if one is under way, and the connection.
  virtual void Close() = 0;

  // The socket while a question is under way, else -1; and whether it waits to become writable
  // rather than readable.
  virtual int poll_fd() const = 0;
  virtual bool wants_write() const = 0;
};

}  // namespace walrelay
