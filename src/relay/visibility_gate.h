// VisibilityGate: holds a transaction until other sessions can see it (source.wait_visible).
//
// Consulted at each BEGIN. One snapshot covers every transaction that ended before it was taken, so
// a burst or a backlog costs one query. A transaction that is still running is queried again after
// a fraction of the time it has waited. Without an answer nothing passes: a connection that fails
// or hangs delays events, and reason() returns the cause.
//
// Belongs to one session: the snapshots of one server do not apply to the xids of another server,
// nor to those of the same server after a crash. Single-threaded; never blocks.
#pragma once

#include <cstdint>
#include <optional>

#include "absl/status/status.h"
#include "base/backoff.h"
#include "metrics/metrics.h"
#include "walrelay/clock.h"
#include "walrelay/config/on_error.h"
#include "walrelay/visibility.h"

namespace walrelay {

// Why snapshots, and which alternatives were rejected: docs/decisions/0015.
class VisibilityGate {
 public:
  struct Parts {
    SnapshotSource& snapshots;  // only this gate requests and closes, while it exists
    Metrics& metrics;
    int walsender_pid = 0;     // of the session's stream
    Micros answer_timeout{0};  // without an answer for this long, the query has failed
    uint64_t seed = 0;         // for the jitter of the back-off
  };

  // The objects that `parts` refers to must outlive the gate. Requests a first snapshot at once,
  // for the backlog, on a new connection.
  VisibilityGate(const Parts& parts, MonoTime now);
  // Closes the connection.
  ~VisibilityGate();

  VisibilityGate(const VisibilityGate&) = delete;
  VisibilityGate& operator=(const VisibilityGate&) = delete;

  // Whether the transaction of a received BEGIN is visible. False: the gate waits for it; call
  // again once waiting() is false, before anything after that BEGIN is published. Call it in the
  // order of the stream, for one BEGIN at a time: the gate remembers only the last one.
  bool Admits(uint32_t xid, MonoTime now);

  // Processes an answer, and sends a query when one is due. Call it in each turn. Error: the stream
  // has ended, and a new session is needed. A query that fails for another reason is not an error:
  // it is repeated after a back-off, and reason() returns it.
  absl::Status Turn(MonoTime now);

  // Whether a transaction that Admits() rejected is not known to be visible yet.
  bool waiting() const { return waiting_for_.has_value(); }
  // When Turn() has work to do, unless an answer arrives earlier; MonoTime::max() if never.
  MonoTime NextDue() const;
  // Why a transaction waits (WR-2014); OK while none does.
  absl::Status reason(MonoTime now) const;

 private:
  // Sends a query if a transaction waits and the pause is over.
  void RequestIfDue(MonoTime now);
  void Request(MonoTime now);
  // Error: the stream belongs to another server, or has ended.
  absl::Status PollSnapshot(MonoTime now);
  void OnError(const absl::Status& error, MonoTime now);
  void OnSnapshot(XidSnapshot snapshot, MonoTime now);
  // Whether a fresh snapshot shows that the transaction has ended.
  bool Knows(uint32_t xid, MonoTime now) const;

  Parts parts_;
  std::optional<XidSnapshot> snapshot_;
  MonoTime taken_at_;  // when the snapshot was requested, so not later than it was taken

  // The transaction of the first pending BEGIN, and since when it waits.
  std::optional<uint32_t> waiting_for_;
  MonoTime waiting_since_;

  std::optional<MonoTime> asked_at_;  // a query is in progress since then
  MonoTime ask_at_;                   // earliest time of the next query while a transaction waits
  Backoff backoff_;
  absl::Status error_;  // of the last query
};

}  // namespace walrelay
