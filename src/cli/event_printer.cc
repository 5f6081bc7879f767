#include "cli/event_printer.h"

#include <fmt/format.h>

#include <cstdio>
#include <string>

#include "base/json_writer.h"
#include "base/text.h"

namespace walrelay {
namespace {

// A pair and not a member of an object: a record may have several headers of one name, and their
// order counts.
std::string HeaderJson(const Header& header) {
  return fmt::format("[{},{}]", JsonText(header.name), JsonText(header.value));
}

std::string JsonLine(const Delivery& delivery, WallTime commit_time, Micros latency) {
  JsonObject out;
  out.Add("committed", commit_time);
  out.Add("latency_us", latency.count());
  out.Add("topic", delivery.topic);
  out.Add("partition", delivery.partition);
  out.Add("offset", delivery.offset);
  out.AddOrNull("key", delivery.key);
  out.Raw("headers", JsonArray(delivery.headers, HeaderJson));
  return std::move(out).Finish() + "\n";
}

// Topic, key and headers come from rows, so they are hostile: Printable() escapes control
// characters and limits their length.
std::string TextLine(const Delivery& delivery, WallTime commit_time, Micros latency) {
  std::string line =
      fmt::format("{}  {:>8}  {}[{}]@{}  key={}", Rfc3339(commit_time), FormatDuration(latency),
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
  // The commit time is that of Postgres' clock: a difference between the clocks is part of the
  // latency, which may be negative.
  const Micros latency = clock_.WallNow() - delivery.report_delay - commit_time;
  const std::string line =
      json_ ? JsonLine(delivery, commit_time, latency) : TextLine(delivery, commit_time, latency);
  std::fwrite(line.data(), 1, line.size(), stdout);
  std::fflush(stdout);
}

}  // namespace walrelay
