// RecordCollector: a sink that stores the records it is given.
//
// Not thread-safe. Memory grows with every record: use it with DryRunScope::limit or a time limit.
#pragma once

#include <utility>
#include <vector>

#include "dryrun/record_difference.h"
#include "walrelay/sink.h"

namespace walrelay {

// Accepts every record and reports it as delivered at the next Poll().
class RecordCollector final : public Sink {
 public:
  absl::StatusOr<Offered> Produce(const Record& record, DeliveryToken token) override {
    records_.emplace_back(record);
    deliveries_.push_back({.token = token, .bytes = record.window_bytes()});
    return Wait::kNone;
  }
  void Poll(DeliveryListener& listener) override {
    for (const Delivery& delivery : deliveries_) {
      listener.OnDelivered(delivery);
    }
    deliveries_.clear();
  }
  absl::Status FatalError() const override { return absl::OkStatus(); }
  int poll_fd() const override { return -1; }

  // In the order of Produce(). Valid as long as the collector; may be moved from when the run has
  // ended.
  std::vector<ExpectedRecord>& records() { return records_; }

 private:
  std::vector<ExpectedRecord> records_;
  std::vector<Delivery> deliveries_;
};

}  // namespace walrelay
