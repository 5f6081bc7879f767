// UnavailableProducer: the producer of a session while there is no real one. It accepts no record,
// so the session holds its messages and continues to report to the server.
#pragma once

#include "walrelay/producer.h"

namespace walrelay {

class UnavailableProducer final : public Producer {
 public:
  absl::StatusOr<Produced> Produce(const Record& /*record*/, DeliveryToken /*token*/) override {
    return Produced::kQueueFull;
  }
  void Poll(DeliverySink& /*sink*/) override {}
  absl::Status Health() const override { return absl::OkStatus(); }
  absl::Status Trouble() const override { return absl::OkStatus(); }
  int poll_fd() const override { return -1; }
};

}  // namespace walrelay
