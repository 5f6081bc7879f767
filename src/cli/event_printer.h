// EventPrinter: one line on standard output for each event that Kafka has acknowledged.
//
// A line has topic, partition, offset, key, headers, and the time from commit to acknowledgement,
// but never the payload. Each line is flushed, so that a pipe receives it immediately.
#pragma once

#include "walrelay/clock.h"
#include "walrelay/sink.h"

namespace walrelay {

// Called on the relay's thread, which a slow reader of standard output therefore blocks. `clock`
// must outlive it.
class EventPrinter {
 public:
  EventPrinter(bool json, const Clock& clock) : json_(json), clock_(clock) {}

  // REQUIRES: the producer reports delivery details (key and headers). A failed write is ignored.
  // The latency compares two clocks and may be negative.
  void Print(const Delivery& delivery, WallTime commit_time) const;

 private:
  bool json_;
  const Clock& clock_;
};

}  // namespace walrelay
