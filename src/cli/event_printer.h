// EventPrinter: one line on standard output for each event that Kafka has acknowledged.
//
// A line has topic, partition, offset, key, headers, and the time from commit to acknowledgement,
// but never the payload. Each line is flushed, so that a pipe receives it immediately.
#pragma once

#include "walrelay/clock.h"
#include "walrelay/producer.h"

namespace walrelay {

class EventPrinter {
 public:
  EventPrinter(bool json, const Clock& clock) : json_(json), clock_(clock) {}

  void Print(const Delivery& delivery, WallTime commit_time) const;

 private:
  bool json_;
  const Clock& clock_;
};

}  // namespace walrelay
