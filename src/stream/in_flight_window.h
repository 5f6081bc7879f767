// InFlightWindow: limits the records in flight.
//
// Bounds records, bytes, and transactions (after one stuck record, finished transactions accumulate
// without a record in flight). After it closed at a limit, it reopens at three quarters of that
// limit, so that reading resumes with a batch and not with a single record. One record is always
// admitted, whatever its size.
//
// Pure; not thread-safe.
#pragma once

#include <cstddef>

#include "stream/ack_tracker.h"
#include "walrelay/config/pipeline.h"

namespace walrelay {

class InFlightWindow {
 public:
  explicit InFlightWindow(const PipelineConfig& config)
      : records_(static_cast<size_t>(config.max_in_flight_records)),
        bytes_(static_cast<size_t>(config.max_in_flight_bytes)) {}

  // Whether another record may be produced.
  // The answer depends on earlier answers: a closed window reopens at the lower limit only.
  bool Admits(const AckTracker& tracker) {
    if (Below(tracker, records_, bytes_)) {
      return open_ || (open_ = Below(tracker, Low(records_), Low(bytes_)));
    }
    return open_ = false;
  }

 private:
  // A division that cannot overflow, and that leaves a limit of 1 unchanged.
  static size_t Low(size_t limit) { return limit - limit / 4; }

  static bool Below(const AckTracker& tracker, size_t records, size_t bytes) {
    // transactions_in_flight() includes the open transaction, which must not close the window on
    // its own first record: hence <=.
    return tracker.records_in_flight() < records && tracker.transactions_in_flight() <= records &&
           tracker.bytes_in_flight() < bytes;
  }

  size_t records_;
  size_t bytes_;
  bool open_ = true;
};

}  // namespace walrelay
