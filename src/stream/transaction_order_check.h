// TransactionOrderCheck: checks the order of messages.
//
// BEGIN, rows, COMMIT; no nesting; each COMMIT matches its BEGIN and is after the previous COMMIT.
// A stream that violates these rules cannot be trusted at all, so every violation is an error that
// ends the session. Not thread-safe; no I/O.
#pragma once

#include <cstdint>
#include <optional>

#include "absl/status/status.h"
#include "pgoutput/message.h"
#include "walrelay/lsn.h"
#include "walrelay/position.h"

namespace walrelay {

// The transaction between BEGIN and COMMIT.
struct OpenTransaction {
  uint32_t xid = 0;
  Lsn commit_lsn;
  WallTime commit_time;
  uint64_t rows = 0;  // received so far, of all tables
  Position last_row;  // of these; its index is 0 before the first one

  // The position of its next row, whose WAL record begins at `row_lsn`.
  Position NextRow(Lsn row_lsn) const;
};

class TransactionOrderCheck {
 public:
  // Each returns WR-2401 (ProtocolViolation) for a message out of order.
  absl::Status OnBegin(const pgoutput::Begin& begin);
  // It follows BEGIN: rows before it could not be told from those of this server.
  absl::Status OnOrigin() const;
  // `row_lsn`: of the row's WAL record.
  absl::Status OnRow(Lsn row_lsn);
  absl::Status OnCommit(const pgoutput::Commit& commit);
  // Ignored, unless it names the open transaction, whose rows were already processed.
  absl::Status OnStreamAbort(const pgoutput::StreamAbort& abort);

  // The open transaction, or nullptr.
  const OpenTransaction* open() const { return open_ ? &*open_ : nullptr; }

 private:
  std::optional<OpenTransaction> open_;
  Lsn last_commit_lsn_;
};

}  // namespace walrelay
