// RecordPrinter: a sink that writes records to standard output instead of to Kafka.
//
// One line per record, as text or JSON: topic, partition if the row determines it, timestamp, key,
// headers and value. In JSON, bytes that are not UTF-8 are base64 in a member with another name
// ("value_base64"). Accepts every record and reports it as delivered at the next Poll().
//
// Not thread-safe. A failed write to standard output is not an error.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json_writer.h"
#include "walrelay/sink.h"

namespace walrelay {

// One line, without the newline.
// Values are escaped and truncated to 200 bytes; NULL is shown as such.
std::string RecordText(const Record& record);
// Values are complete. Absent parts are null.
std::string RecordJson(const Record& record);
// Adds `bytes` as text, or as base64 in a member NAME_base64 if they are not UTF-8; null if absent.
void AddJsonBytes(const std::string& name, const std::optional<std::string_view>& bytes,
                  JsonObject& out);

class RecordPrinter : public Sink {
 public:
  explicit RecordPrinter(bool json) : json_(json) {}

  absl::StatusOr<Offered> Produce(const Record& record, DeliveryToken token) override;
  void Poll(DeliveryListener& listener) override;
  absl::Status FatalError() const override { return absl::OkStatus(); }
  int poll_fd() const override { return -1; }

 private:
  bool json_;
  std::vector<Delivery> deliveries_;
};

}  // namespace walrelay
