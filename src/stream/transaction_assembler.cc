#include "stream/transaction_assembler.h"

#include <fmt/format.h>

#include "walrelay/error.h"

namespace walrelay {
namespace {

absl::Status Violation(std::string_view what) {
  return Error(ErrorCode::kProtocolViolation, what);
}

}  // namespace

absl::Status TransactionAssembler::OnBegin(const pgoutput::Begin& begin) {
  if (open_) {
    return Violation(
        fmt::format("BEGIN of transaction {} inside transaction {}", begin.xid, open_->xid));
  }
  open_ = OpenTransaction{
      .xid = begin.xid, .commit_lsn = begin.final_lsn, .commit_time = begin.commit_time, .rows = 0};
  return absl::OkStatus();
}

absl::Status TransactionAssembler::OnRow() {
  if (!open_) {
    return Violation("row outside of a transaction");
  }
  ++open_->rows;
  return absl::OkStatus();
}

absl::Status TransactionAssembler::OnCommit(const pgoutput::Commit& commit) {
  if (!open_) {
    return Violation(fmt::format("COMMIT at {} without BEGIN", commit.commit_lsn.ToString()));
  }
  if (commit.commit_lsn != open_->commit_lsn || commit.end_lsn <= commit.commit_lsn) {
    return Violation(fmt::format(
        "COMMIT at {} to {} does not end the transaction that commits at {}",
        commit.commit_lsn.ToString(), commit.end_lsn.ToString(), open_->commit_lsn.ToString()));
  }
  if (commit.commit_lsn <= last_commit_lsn_) {
    return Violation(fmt::format("COMMIT at {} comes after the one at {}",
                                 commit.commit_lsn.ToString(), last_commit_lsn_.ToString()));
  }
  last_commit_lsn_ = commit.commit_lsn;
  open_.reset();
  return absl::OkStatus();
}

absl::Status TransactionAssembler::OnStreamAbort(const pgoutput::StreamAbort& abort) {
  if (open_ && open_->xid == abort.xid) {
    return Violation(
        fmt::format("Stream Abort of transaction {} inside that transaction", abort.xid));
  }
  return absl::OkStatus();
}

}  // namespace walrelay
