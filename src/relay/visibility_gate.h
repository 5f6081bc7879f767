// VisibilityGate: holds a transaction until other sessions can see it (source.wait_visible).
//
// Asked at each BEGIN. One answer serves every transaction that ended before it was taken, so a
// burst or a backlog costs one question. A transaction that is still running is asked about again,
// after a fraction of the time that it has waited. Without an answer nothing is let through: a
// connection that fails or hangs delays events, and reason() says why.
//
// Belongs to one session: snapshots of one server say nothing about the xids of another, nor of its
// own after a crash. Single-threaded; never blocks.
#pragma once

#include <cstdint>
#include <optional>

#include "absl/status/status.h"
#include "base/backoff.h"
#include "metrics/metrics.h"
#include "walrelay/clock.h"
#include "walrelay/visibility.h"

namespace walrelay {

class VisibilityGate {
 public:
  struct Parts {
    SnapshotSource& snapshots;
    Metrics& metrics;
    int walsender_pid = 0;  // of the session's stream
    Micros answer_timeout{0};
    uint64_t seed = 0;  // of the back-off's jitter
  };

  // `parts` must outlive the gate. Asks for a first snapshot at once, for the backlog.
  VisibilityGate(const Parts& parts, MonoTime now);
  // Closes the connection.
  ~VisibilityGate();

  VisibilityGate(const VisibilityGate&) = delete;
  VisibilityGate& operator=(const VisibilityGate&) = delete;

  // Whether the transaction of a BEGIN that was received is visible. False: it is waited for; ask
  // again once waiting() is false.
  bool Admits(uint32_t xid, MonoTime now);

  // Takes an answer, and asks where that is due. To be called in each turn. Error: the stream has
  // ended, and only a new session can go on.
  absl::Status Turn(MonoTime now);

  bool waiting() const { return waiting_for_.has_value(); }
  // When Turn() has something to do, unless an answer comes before.
  MonoTime NextDue() const;
  // Why a transaction waits (WR-2014); OK while none does.
  absl::Status reason(MonoTime now) const;

 private:
  void AskIfDue(MonoTime now);
  void Ask(MonoTime now);
  absl::Status TakeAnswer(MonoTime now);
  void OnError(const absl::Status& error, MonoTime now);
  void OnSnapshot(XidSnapshot snapshot, MonoTime now);
  bool Knows(uint32_t xid, MonoTime now) const;

  Parts parts_;
  std::optional<XidSnapshot> snapshot_;
  MonoTime taken_at_;  // not before: when the snapshot was asked for

  std::optional<uint32_t> waiting_for_;
  MonoTime waiting_since_;

  std::optional<MonoTime> asked_at_;  // a question is under way since then
  MonoTime ask_at_;                   // not before, while one waits
  Backoff backoff_;
  absl::Status error_;  // of the last question
};

}  // namespace walrelay
