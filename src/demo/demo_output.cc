#include "demo/demo_output.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <utility>

#include "base/text.h"

namespace walrelay {
namespace {

// "08:14:02.000".
std::string TimeOfDay(WallTime time) {
  return Rfc3339(time).substr(11, 12);
}

std::string HeaderOf(const PublishedEvent& event, std::string_view name) {
  for (const auto& [header, value] : event.headers) {
    if (header == name) {
      return Printable(value, 36);
    }
  }
  return "";
}

}  // namespace

DemoOutput::DemoOutput()
    : colour_(isatty(STDOUT_FILENO) != 0 && std::getenv("NO_COLOR") == nullptr) {}

void DemoOutput::Title(std::string_view text) const {
  fmt::print("{}{}{}\n", colour_ ? "\033[1m" : "", text, colour_ ? "\033[0m" : "");
}

void DemoOutput::Fact(std::string_view name, std::string_view text) const {
  fmt::print("  {:<10} {}\n", name, text);
  std::fflush(stdout);
}

void DemoOutput::Note(std::string_view text) const {
  fmt::print("{}{}{}\n", colour_ ? "\033[1;33m" : "-- ", text, colour_ ? "\033[0m" : "");
  std::fflush(stdout);
}

void DemoOutput::Header() const {
  Title(fmt::format("\n{:<12} {:<9} {:<27} {:<21} {:<16} {}", "committed", "published",
                    "topic[partition]@offset", "key", "event_type", "id"));
}

void DemoOutput::Event(const PublishedEvent& event) const {
  // The beginning of a UUID is enough to recognize a duplicate on the screen.
  constexpr size_t kShownIdBytes = 8;
  fmt::print("{} {:<9} {:<27} {:<21} {}{:<16} {}{}\n", TimeOfDay(event.committed),
             "+" + FormatDuration(event.latency),
             fmt::format("{}[{}]@{}", Printable(event.topic), event.partition, event.offset),
             Printable(event.key, 21), colour_ ? "\033[2m" : "", HeaderOf(event, "event_type"),
             HeaderOf(event, "id").substr(0, kShownIdBytes), colour_ ? "\033[0m" : "");
  std::fflush(stdout);
}

void DemoOutput::Check(bool good, std::string_view text) const {
  const std::string_view mark = colour_ ? (good ? "\033[32m✔\033[0m" : "\033[31m✘\033[0m")
                                : good  ? "ok    "
                                        : "FAILED";
  fmt::print("  {} {}\n", mark, text);
}

void DemoOutput::Summary(const Verdict& verdict, size_t transactions,
                         size_t rolled_back_transactions, const DeliveryTimes& times) const {
  Title("\nsummary, read back from Postgres and Kafka");
  fmt::print("  {} transactions committed {} events; {} rollbacks discarded {} more\n",
             transactions, verdict.committed, rolled_back_transactions, verdict.rolled_back);
  Check(verdict.lost == 0,
        fmt::format("every committed event is in Kafka: {} of {}, {} lost",
                    verdict.committed - verdict.lost, verdict.committed, verdict.lost));
  Check(verdict.phantoms == 0,
        fmt::format("no rolled-back event is in Kafka: {} found", verdict.phantoms));
  Check(verdict.disordered == 0,
        fmt::format("the events of each of the {} keys are in commit order: {} are not",
                    verdict.keys, verdict.disordered));
  Check(verdict.damaged == 0,
        fmt::format("keys, headers and payloads are as written: {} are not", verdict.damaged));
  fmt::print(
      "  duplicates after the SIGKILL: {} of {} records; consumers recognize them by the header "
      "id\n",
      verdict.duplicates, verdict.records);
  if (const auto figures = times.Undisturbed(); figures.events > 0) {
    fmt::print("  commit to acknowledgement, undisturbed: p50 {}, p99 {}, max {} ({} events)\n",
               FormatDuration(figures.median), FormatDuration(figures.p99),
               FormatDuration(figures.max), figures.events);
  }
  if (const auto outage = times.Outage()) {
    fmt::print("  SIGKILL: nothing was published for {}; events that waited: {}, the longest {}\n",
               FormatDuration(*outage), times.Delayed().events,
               FormatDuration(times.Delayed().max));
  }
}

void DemoOutput::NextSteps(std::string_view program) const {
  Title("\nnext steps");
  Fact("program", program);
  for (const auto& [command, purpose] : {
           std::pair{"demo --keep-running", "keep it running, and open its status page"},
           std::pair{"setup --help", "create table, publication, slot and role in your database"},
           std::pair{"check --help", "check configuration, Postgres and Kafka before the start"},
           std::pair{"explain --help", "look up an error code, a metric, a check"},
       }) {
    fmt::print("  walrelay {:<19}  {}\n", command, purpose);
  }
  fmt::print("  README.md, \"The first hour\"   from here to production\n");
}

}  // namespace walrelay
