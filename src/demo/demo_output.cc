#include "demo/demo_output.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "base/text.h"

namespace walrelay {
namespace {

// "2026-11-20T08:14:02.000123Z" → "08:14:02.000".
std::string_view TimeOfDay(std::string_view rfc3339) {
  return rfc3339.size() > 23 ? rfc3339.substr(11, 12) : rfc3339;
}

Micros Percentile(std::vector<Micros> values, size_t percent) {
  std::sort(values.begin(), values.end());
  return values[std::min(values.size() - 1, values.size() * percent / 100)];
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
  Title(fmt::format("\n{:<12}   {:<12} {:<36} {:<22} {}", "committed", "acknowledged",
                    "topic[partition]@offset", "key", "headers"));
}

void DemoOutput::Event(const PublishedEvent& event) {
  latencies_.push_back(event.latency);
  std::string headers;
  for (const auto& [name, value] : event.headers) {
    headers += fmt::format("{}={} ", Printable(name, 36), Printable(value, 36));
  }
  fmt::print("{} → +{:<11} {:<36} {:<22} {}{}{}\n", TimeOfDay(Printable(event.committed)),
             FormatDuration(event.latency),
             fmt::format("{}[{}]@{}", Printable(event.topic), event.partition, event.offset),
             Printable(event.key, 22), colour_ ? "\033[2m" : "", headers, colour_ ? "\033[0m" : "");
  std::fflush(stdout);
}

void DemoOutput::Check(bool good, std::string_view text) const {
  const std::string_view mark = colour_ ? (good ? "\033[32m✔\033[0m" : "\033[31m✘\033[0m")
                                : good  ? "ok    "
                                        : "FAILED";
  fmt::print("  {} {}\n", mark, text);
}

void DemoOutput::Summary(const Verdict& verdict, size_t transactions,
                         size_t rolled_back_transactions) const {
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
      "  {} of the {} records are duplicates because of the SIGKILL: delivery is at least once; "
      "consumers deduplicate by the header id\n",
      verdict.duplicates, verdict.records);
  if (!latencies_.empty()) {
    fmt::print("  commit → acknowledged: p50 {}, p99 {}\n",
               FormatDuration(Percentile(latencies_, 50)),
               FormatDuration(Percentile(latencies_, 99)));
  }
}

}  // namespace walrelay
