#include "dryrun/record_printer.h"

#include <fmt/format.h>

#include <cstdio>

#include "absl/strings/escaping.h"
#include "base/text.h"

namespace walrelay {
namespace {

// Truncates a value in the text format. The JSON format has the complete value.
constexpr size_t kShown = 200;

std::string Shown(const std::optional<std::string_view>& bytes) {
  return bytes ? Printable(*bytes, kShown) : "NULL";
}

void AppendMember(std::string_view name, const std::optional<std::string_view>& bytes,
                  std::string& out) {
  const bool text = !bytes || IsUtf8(*bytes);
  out += fmt::format(",\"{}{}\":", name, text ? "" : "_base64");
  if (!bytes) {
    out += "null";
  } else if (text) {
    AppendJsonString(*bytes, out);
  } else {
    out += '"' + absl::Base64Escape({bytes->data(), bytes->size()}) + '"';
  }
}

}  // namespace

std::string RecordText(const Record& record) {
  std::string line = Printable(record.topic);
  if (record.partition) {
    line += fmt::format("[{}]", *record.partition);
  }
  line += "  " + (record.timestamp ? Rfc3339(*record.timestamp) : "now");
  line += "  key=" + Shown(record.key);
  for (const Header& header : record.headers) {
    line += fmt::format("  {}={}", Printable(header.name, kShown), Shown(header.value));
  }
  return line + "  value=" + Shown(record.value);
}

std::string RecordJson(const Record& record) {
  std::string line = "{\"topic\":";
  AppendJsonString(record.topic, line);
  line += ",\"partition\":" + (record.partition ? fmt::format("{}", *record.partition) : "null");
  line += ",\"timestamp\":" +
          (record.timestamp ? fmt::format("\"{}\"", Rfc3339(*record.timestamp)) : "null");
  AppendMember("key", record.key, line);
  line += ",\"headers\":[";
  const char* separator = "";
  for (const Header& header : record.headers) {
    line += fmt::format("{}{{\"name\":", separator);
    AppendJsonString(header.name, line);
    AppendMember("value", header.value, line);
    line += '}';
    separator = ",";
  }
  line += ']';
  AppendMember("value", record.value, line);
  return line + '}';
}

absl::StatusOr<Produced> RecordPrinter::Produce(const Record& record, DeliveryToken token) {
  const std::string line = (json_ ? RecordJson(record) : RecordText(record)) + '\n';
  std::fwrite(line.data(), 1, line.size(), stdout);
  std::fflush(stdout);
  deliveries_.push_back({.token = token, .bytes = record.window_bytes()});
  return Produced::kAccepted;
}

void RecordPrinter::Poll(DeliverySink& sink) {
  for (const Delivery& delivery : deliveries_) {
    sink.OnDelivered(delivery);
  }
  deliveries_.clear();
}

}  // namespace walrelay
