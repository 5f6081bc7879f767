// TransactionAssembler: the order in which messages may come.
//
// Begin, rows, Commit; no nesting; a COMMIT that belongs to its BEGIN, behind the one before it. A
// stream that breaks these rules must not be believed in anything, so every breach is an error that
// ends the session. Not thread-safe; no I/O.
#pragma once

#include <cstdint>
#include <optional>

#include "absl/status/status.h"
#include "pgoutput/message.h"
#include "walrelay/lsn.h"

namespace walrelay {

// The transaction between BEGIN and COMMIT. Commit LSN and ordinal together name a row of the log
// for good: they are the same each time it is sent.
struct OpenTransaction {
  uint32_t xid = 0;
  Lsn commit_lsn;
  WallTime commit_time;
  uint64_t rows = 0;  // seen so far, of all tables
};

class TransactionAssembler {
 public:
  // Each returns WR-2401 (ProtocolViolation) for a message out of order.
  absl::Status OnBegin(const pgoutput::Begin& begin);
  absl::Status OnRow();
  absl::Status OnCommit(const pgoutput::Commit& commit);
  // Ignored, unless it names the open transaction: rows of that one were already handed out.
  absl::Status OnStreamAbort(const pgoutput::StreamAbort& abort);

  // The transaction that is open, or nullptr.
  const OpenTransaction* open() const { return open_ ? &*open_ : nullptr; }

 private:
  std::optional<OpenTransaction> open_;
  Lsn last_commit_lsn_;
};

}  // namespace walrelay
