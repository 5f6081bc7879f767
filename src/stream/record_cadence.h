// RecordCadence: decides when a record of progress is due.
//
// A record of published events is due soon: after a crash, what no record names may be published
// again. A record that only follows the WAL of other tables saves decoding after a restart, and
// lets the server remove WAL: it is due when it saves enough, or when the server, a drain or the
// pruning of rows waits for it. Otherwise an idle pipeline next to a busy table would write ten
// records a second, and with "exactly_once" as many transactions.
//
// Pure: the caller passes the time. Not thread-safe.
#pragma once

#include <cstdint>

#include "walrelay/clock.h"

namespace walrelay {

// Lists what a record would say that the last one does not.
struct Unrecorded {
  bool events = false;     // that events are published; or nothing was recorded of this stream
  bool horizon = false;    // that rows before another horizon are published: `prune` waits for it
  uint64_t bytes = 0;      // how much WAL is settled
  bool requested = false;  // a position that the server has asked for: it may be shutting down
  bool at_once = false;    // the stream is about to end
};

class RecordCadence {
 public:
  // Between records without events.
  static constexpr Micros kPositionInterval = std::chrono::seconds(10);
  // Settled WAL is retained up to this size, little next to the gigabyte of max_wal_size. 50
  // pipelines write ten records a second or less while the server writes 12 MB of WAL a second.
  static constexpr uint64_t kPositionBytes = 64ULL * 1024 * 1024;

  // `event_interval`: between all other records.
  RecordCadence(Micros event_interval, MonoTime now)
      : event_interval_(event_interval), due_(now), position_due_(now) {}

  // The first record of a stream does not wait: it says more than a position.
  void OnStreamStarted(MonoTime now) { position_due_ = now; }
  void OnRecorded(MonoTime now);
  // The next record, whatever it is, is not due before `retry_at`.
  void OnRefused(MonoTime retry_at) { due_ = retry_at; }

  // Whether to record `what` now.
  bool Due(MonoTime now, const Unrecorded& what) const;
  // When Due() may change if nothing happens before; MonoTime::max(): it does not.
  MonoTime NextDue(MonoTime now) const;

 private:
  Micros event_interval_;
  MonoTime due_;           // earliest time of the next record
  MonoTime position_due_;  // the same of one without events
};

}  // namespace walrelay
