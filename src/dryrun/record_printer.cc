#include "dryrun/record_printer.h"

#include <fmt/format.h>

#include <cstdio>

#include "absl/strings/escaping.h"
#include "base/json_writer.h"
#include "base/text.h"
#include "base/utf8.h"

namespace walrelay {
namespace {

// Truncates a value in the text format. The JSON format has the complete value.
constexpr size_t kShownValue = 200;

std::string Shown(const std::optional<std::string_view>& bytes) {
  return bytes ? Printable(*bytes, kShownValue) : "NULL";
}

std::string HeaderJson(const Header& header) {
  JsonObject out;
  out.Add("name", header.name);
  AddJsonBytes("value", header.value, out);
  return std::move(out).Finish();
}

}  // namespace

void AddJsonBytes(const std::string& name, const std::optional<std::string_view>& bytes,
                  JsonObject& out) {
  if (!bytes || IsUtf8(*bytes)) {
    out.AddOrNull(name, bytes);
  } else {
    out.Add(name + "_base64", absl::Base64Escape({bytes->data(), bytes->size()}));
  }
}

std::string RecordText(const Record& record) {
  std::string line = Printable(record.topic);
  if (record.partition) {
    line += fmt::format("[{}]", *record.partition);
  }
  line += "  " + (record.timestamp ? Rfc3339(*record.timestamp) : "now");
  line += "  key=" + Shown(record.key);
  for (const Header& header : record.headers) {
    line += fmt::format("  {}={}", Printable(header.name, kShownValue), Shown(header.value));
  }
  return line + "  value=" + Shown(record.value);
}

std::string RecordJson(const Record& record) {
  JsonObject out;
  out.Add("topic", record.topic);
  out.AddOrNull("partition", record.partition);
  out.AddOrNull("timestamp", record.timestamp);
  AddJsonBytes("key", record.key, out);
  out.Raw("headers", JsonArray(record.headers, HeaderJson));
  AddJsonBytes("value", record.value, out);
  return std::move(out).Finish();
}

absl::StatusOr<Offered> RecordPrinter::Produce(const Record& record, DeliveryToken token) {
  const std::string line = (json_ ? RecordJson(record) : RecordText(record)) + '\n';
  std::fwrite(line.data(), 1, line.size(), stdout);
  // With --follow, each record appears when it is committed.
  std::fflush(stdout);
  // Reported by the next Poll(), as a real sink does: Produce() never calls the listener.
  deliveries_.push_back({.token = token, .bytes = record.window_bytes()});
  return Wait::kNone;
}

void RecordPrinter::Poll(DeliveryListener& listener) {
  for (const Delivery& delivery : deliveries_) {
    listener.OnDelivered(delivery);
  }
  deliveries_.clear();
}

}  // namespace walrelay
