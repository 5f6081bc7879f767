#include "cli/event_printer.h"

#include <fmt/format.h>

#include <cstdio>
#include <string>

#include "base/text.h"

namespace walrelay {
namespace {

void AppendJsonOrNull(const std::optional<std::string_view>& text, std::string& out) {
  if (text) {
    AppendJsonString(*text, out);
  } else {
    out += "null";
  }
}

std::string JsonLine(const Delivery& delivery, WallTime commit_time, Micros latency) {
  std::string line = fmt::format(R"({{"committed":"{}","latency_us":{},"topic":)",
                                 Rfc3339(commit_time), latency.count());
  AppendJsonString(delivery.topic, line);
  line += fmt::format(R"(,"partition":{},"offset":{},"key":)", delivery.partition, delivery.offset);
  AppendJsonOrNull(delivery.key, line);
  line += R"(,"headers":[)";
  const char* separator = "";
  for (const Header& header : delivery.headers) {
    line += separator;
    line += '[';
    AppendJsonString(header.name, line);
    line += ',';
    AppendJsonOrNull(header.value, line);
    line += ']';
    separator = ",";
  }
  return line + "]}\n";
}

std::string TextLine(const Delivery& delivery, WallTime commit_time, Micros latency) {
  std::string line =
      fmt::format("{}  {:>8}  {}[{}]@{}  key={}", Rfc3339(commit_time), HumanDuration(latency),
                  Printable(delivery.topic), delivery.partition, delivery.offset,
                  delivery.key ? Printable(*delivery.key, 80) : "NULL");
  for (const Header& header : delivery.headers) {
    line += fmt::format("  {}={}", Printable(header.name, 40),
                        header.value ? Printable(*header.value, 80) : "NULL");
  }
  return line + "\n";
}

}  // namespace

void EventPrinter::Print(const Delivery& delivery, WallTime commit_time) const {
  const Micros latency = clock_.WallNow() - commit_time;
  const std::string line =
      json_ ? JsonLine(delivery, commit_time, latency) : TextLine(delivery, commit_time, latency);
  std::fwrite(line.data(), 1, line.size(), stdout);
  std::fflush(stdout);
}

}  // namespace walrelay
