// HistoryCheck: whether the stream contains a transaction that was published from this WAL before.
//
// A server that was restored from an older state, and has grown since, has the same system
// identifier and timeline, and positions look continuous. But its WAL has no COMMIT, or that of
// another transaction, where the last published one was. The check is complete when that
// transaction passes by; until then nothing new is known to be of the same history.
//
// Not thread-safe; no I/O.
#pragma once

#include "absl/status/status.h"
#include "pgoutput/message.h"
#include "walrelay/lsn.h"
#include "walrelay/progress.h"

namespace walrelay {

class HistoryCheck {
 public:
  // Nothing is expected: the check is complete.
  HistoryCheck() = default;
  // Each may be invalid: not expected. REQUIRES: the stream starts at or before each transaction's
  // COMMIT, and the transaction has rows in the publication, so that the server sends it. `next` is
  // behind `expected`.
  explicit HistoryCheck(const PublishedTransaction& expected, const PublishedTransaction& next = {})
      : expected_(expected.valid() ? expected : next),
        next_(expected.valid() ? next : PublishedTransaction()) {}

  // The next transaction of the stream. WR-2204 if it cannot follow, or be, the expected one.
  absl::Status OnBegin(const pgoutput::Begin& begin);

  // The server has sent every COMMIT before `position`. WR-2204 if the expected one was to be among
  // them.
  absl::Status OnSentBefore(Lsn position) const;

  bool complete() const { return !expected_.valid(); }

 private:
  PublishedTransaction expected_;
  PublishedTransaction next_;  // expected after it
};

}  // namespace walrelay
