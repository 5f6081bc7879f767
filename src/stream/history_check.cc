#include "stream/history_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/text.h"
#include "walrelay/error.h"

namespace walrelay {

// Every transaction with a smaller xid than a horizon's has its COMMIT before it. The xid in the
// stream is without its epoch: less than 2^31 transactions run at once.
absl::Status HistoryCheck::CheckXid(const pgoutput::Begin& begin) const {
  const auto after =
      std::upper_bound(horizons_.begin(), horizons_.end(), begin.final_lsn,
                       [](Lsn lsn, const XidHorizon& horizon) { return lsn < horizon.insert_lsn; });
  if (after == horizons_.begin()) {
    return absl::OkStatus();
  }
  const XidHorizon& passed = *std::prev(after);
  if (static_cast<int32_t>(begin.xid - static_cast<uint32_t>(passed.xid)) >= 0) {
    return absl::OkStatus();
  }
  return Error(
      ErrorCode::kHistoryRewritten,
      fmt::format("transaction {} commits at {}, but all before {} had ended before {}", begin.xid,
                  begin.final_lsn.ToString(), passed.xid, passed.insert_lsn.ToString()));
}

// Commits are sent in the order of their positions, so a later one means that the expected one is
// not in the WAL.
absl::Status HistoryCheck::OnBegin(const pgoutput::Begin& begin) {
  WR_RETURN_IF_ERROR(CheckXid(begin));
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
