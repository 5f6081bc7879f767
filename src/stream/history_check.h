// HistoryCheck: whether the stream contains a transaction that was published from this WAL before.
//
// A server that was restored from an older state, and has grown since, has the same system
// identifier and timeline, and positions look continuous. But its WAL has no COMMIT, or that of
// another transaction, where the last published one was; and its transactions committed later than
// every published one. It may also assign xids again that had ended before. The check is complete
// when the last published transaction passes by; until then nothing new is known to be of the same
// history.
//
// Not thread-safe; no I/O.
#pragma once

#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "pgoutput/message.h"
#include "walrelay/lsn.h"
#include "walrelay/progress.h"
#include "walrelay/xid_horizon.h"

namespace walrelay {

class HistoryCheck {
 public:
  // Nothing is expected, and nothing is known of times: the check is complete.
  HistoryCheck() = default;
  // Each may be invalid: not expected. REQUIRES: the stream starts at or before each transaction's
  // COMMIT, and the transaction has rows in the publication, so that the server sends it. `next` is
  // behind `expected`. No transaction that counts as published committed after `latest_commit`.
  // `horizons`: of this WAL; ascending.
  explicit HistoryCheck(const PublishedTransaction& expected, const PublishedTransaction& next = {},
                        WallTime latest_commit = WallTime::max(),
                        std::vector<XidHorizon> horizons = {})
      : expected_(expected.valid() ? expected : next),
        next_(expected.valid() ? next : PublishedTransaction()),
        latest_commit_(latest_commit),
        horizons_(std::move(horizons)) {}

  // The next transaction of the stream. WR-2204 if it cannot follow, or be, the expected one, or if
  // its xid had ended before.
  absl::Status OnBegin(const pgoutput::Begin& begin);

  // The server has sent every COMMIT before `position`. WR-2204 if the expected one was to be among
  // them.
  absl::Status OnSentBefore(Lsn position) const;

  // A row of this transaction counts as published, by its position. WR-2204 if it committed after
  // all that was published.
  absl::Status OnSettled(const PublishedTransaction& transaction) const;

  bool complete() const { return !expected_.valid(); }

 private:
  absl::Status CheckXid(const pgoutput::Begin& begin) const;

  PublishedTransaction expected_;
  PublishedTransaction next_;  // expected after it
  WallTime latest_commit_ = WallTime::max();
  std::vector<XidHorizon> horizons_;
};

}  // namespace walrelay
