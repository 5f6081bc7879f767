#include "stream/history_check.h"

#include <fmt/format.h>

#include <utility>

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

}  // namespace walrelay
