// CommitPause: how long a producer waits after a commit before it begins the next transaction.
//
// The coordinator answers a commit before it has written the markers. Until they are written it
// refuses to register partitions, and librdkafka repeats the request only after 20 ms. A shorter
// wait is cheaper; how long the markers take depends on the brokers and is learned.
//
// Pure. Source: librdkafka, rd_kafka_txn_handle_AddPartitionsToTxn.
#pragma once

#include <algorithm>

#include "walrelay/clock.h"

namespace walrelay {

class CommitPause {
 public:
  static constexpr Micros kMax{20'000};

  Micros value() const { return value_; }

  // The partitions of a transaction were registered `delay` after the commit before it; `repeated`:
  // only at the second attempt. The steps are such that every 90th registration is repeated.
  void OnRegistered(Micros delay, bool repeated) {
    if (repeated) {
      value_ = std::min(value_ + kRise, kMax);
    } else if (delay < value_ + kPrompt) {
      value_ = std::max(value_ - kFall, Micros(0));
    }
  }

 private:
  static constexpr Micros kRise{900};
  static constexpr Micros kFall{10};
  // A registration later than this after the pause says nothing about it: no record was there.
  static constexpr Micros kPrompt{5'000};

  Micros value_{2'000};
};

}  // namespace walrelay
