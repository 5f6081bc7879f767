#include "stream/transaction_order_check.h"

#include <fmt/format.h>

#include "base/check.h"
#include "walrelay/error.h"

namespace walrelay {
namespace {

absl::Status Violation(std::string_view what) {
  return Error(ErrorCode::kProtocolViolation, what);
}

}  // namespace

// Rows are sent in the order of their WAL records (reorderbuffer.c merges the changes of a
// transaction and its subtransactions by LSN). One that nevertheless precedes the row before it
// counts as of the same record: positions never go back.
Position OpenTransaction::NextRow(Lsn row_lsn) const {
  return row_lsn > last_row.row_lsn ? Position{commit_lsn, row_lsn, 1} : last_row.Next();
}

absl::Status TransactionOrderCheck::OnBegin(const pgoutput::Begin& begin) {
  if (open_) {
    return Violation(
        fmt::format("BEGIN of transaction {} inside transaction {}", begin.xid, open_->xid));
  }
  // Not checked: whether the xid is greater than the one before. Transactions commit in another
  // order than they begin.
  open_ = OpenTransaction{.xid = begin.xid,
                          .commit_lsn = begin.final_lsn,
                          .commit_time = begin.commit_time,
                          .rows = 0,
                          .last_row = {begin.final_lsn, Lsn(), 0}};
  return absl::OkStatus();
}

absl::Status TransactionOrderCheck::OnOrigin() const {
  return open_ && open_->rows == 0
             ? absl::OkStatus()
             : Violation("replication origin that does not follow the BEGIN of a transaction");
}

absl::Status TransactionOrderCheck::OnRow(Lsn row_lsn) {
  if (!open_) {
    return Violation("row outside of a transaction");
  }
  const Position position = open_->NextRow(row_lsn);
  WR_CHECK(position > open_->last_row && position.index > 0, "each row has a position of its own");
  ++open_->rows;
  open_->last_row = position;
  return absl::OkStatus();
}

absl::Status TransactionOrderCheck::OnCommit(const pgoutput::Commit& commit) {
  if (!open_) {
    return Violation(fmt::format("COMMIT at {} without BEGIN", commit.commit_lsn.ToString()));
  }
  // BEGIN announces the position of the COMMIT record (final_lsn). If the two differ, rows of
  // different transactions were mixed.
  if (commit.commit_lsn != open_->commit_lsn || commit.end_lsn <= commit.commit_lsn) {
    return Violation(fmt::format(
        "COMMIT at {} to {} does not end the transaction that commits at {}",
        commit.commit_lsn.ToString(), commit.end_lsn.ToString(), open_->commit_lsn.ToString()));
  }
  // Transactions are sent in the order of their COMMIT records. One at or before the previous
  // COMMIT is a repetition, or belongs to another history.
  if (commit.commit_lsn <= last_commit_lsn_) {
    return Violation(fmt::format("COMMIT at {} comes after the one at {}",
                                 commit.commit_lsn.ToString(), last_commit_lsn_.ToString()));
  }
  WR_CHECK(commit.commit_lsn == open_->commit_lsn && commit.commit_lsn > last_commit_lsn_,
           "transactions end in the order of their COMMIT records");
  last_commit_lsn_ = commit.commit_lsn;
  open_.reset();
  return absl::OkStatus();
}

// The protocol version in use never streams a transaction in parts, so only servers that deviate
// from it send this message. One about another transaction is harmless: its rows were never sent.
absl::Status TransactionOrderCheck::OnStreamAbort(const pgoutput::StreamAbort& abort) {
  if (open_ && open_->xid == abort.xid) {
    return Violation(
        fmt::format("Stream Abort of transaction {} inside that transaction", abort.xid));
  }
  return absl::OkStatus();
}

}  // namespace walrelay
