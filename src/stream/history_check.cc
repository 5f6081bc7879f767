#include "stream/history_check.h"

#include <fmt/format.h>

#include <utility>

#include "base/text.h"
#include "walrelay/error.h"

namespace walrelay {

// Commits are sent in the order of their positions, so a later one means that the expected one is
// not in the WAL.
absl::Status HistoryCheck::OnBegin(const pgoutput::Begin& begin) {
  if (complete() || begin.final_lsn < expected_.commit_lsn) {
    return absl::OkStatus();
  }
  if (begin.final_lsn > expected_.commit_lsn) {
    return Error(
        ErrorCode::kHistoryRewritten,
        fmt::format("expected the COMMIT of transaction {} at {}, got the next one at {}",
                    expected_.xid, expected_.commit_lsn.ToString(), begin.final_lsn.ToString()));
  }
  if (begin.xid != expected_.xid || begin.commit_time != expected_.commit_time) {
    return Error(ErrorCode::kHistoryRewritten,
                 fmt::format("at {}, expected the COMMIT of transaction {}, got {}{}",
                             expected_.commit_lsn.ToString(), expected_.xid, begin.xid,
                             begin.xid == expected_.xid ? " at another time" : ""));
  }
  expected_ = std::exchange(next_, {});
  return absl::OkStatus();
}

absl::Status HistoryCheck::OnSentBefore(Lsn position) const {
  if (complete() || position <= expected_.commit_lsn) {
    return absl::OkStatus();
  }
  return Error(ErrorCode::kHistoryRewritten,
               fmt::format("expected the COMMIT of transaction {} at {}, got none before {}",
                           expected_.xid, expected_.commit_lsn.ToString(), position.ToString()));
}

// Clocks of servers differ, but a transaction keeps its time wherever its WAL goes.
absl::Status HistoryCheck::OnSettled(const PublishedTransaction& transaction) const {
  if (transaction.commit_time <= latest_commit_) {
    return absl::OkStatus();
  }
  return Error(
      ErrorCode::kHistoryRewritten,
      fmt::format("the position of transaction {}, {}, is before events that are published, "
                  "but it committed after them, at {}; the last of them at {}",
                  transaction.xid, transaction.commit_lsn.ToString(),
                  Rfc3339(transaction.commit_time), Rfc3339(latest_commit_)));
}

}  // namespace walrelay
