// RecordPrinter: a producer that writes records to standard output instead of to Kafka.
//
// One line per record, as text or JSON: topic, partition if the row determines it, timestamp, key,
// headers and value. In JSON, bytes that are not UTF-8 are base64 in a member with another name
// ("value_base64"). Accepts every record and reports it as delivered at the next Poll().
//
// Not thread-safe. A failed write to standard output is not an error.
#pragma once

#include <string>
#include <vector>

#include "walrelay/producer.h"

namespace walrelay {

// One line, without the newline.
// Values are escaped and truncated to 200 bytes; NULL is shown as such.
std::string RecordText(const Record& record);
// Values are complete. Absent parts are null.
std::string RecordJson(const Record& record);

class RecordPrinter : public Producer {
 public:
  explicit RecordPrinter(bool json) : json_(json) {}

  absl::StatusOr<ProduceResult> Produce(const Record& record, DeliveryToken token) override;
  void Poll(DeliverySink& sink) override;
  absl::Status FatalError() const override { return absl::OkStatus(); }
  absl::Status TransientError() const override { return absl::OkStatus(); }
  int poll_fd() const override { return -1; }

 private:
  bool json_;
  std::vector<Delivery> deliveries_;
};

}  // namespace walrelay
