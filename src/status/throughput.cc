#include "status/throughput.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"

namespace walrelay {
namespace {

// The window of "events per second" and of the latencies.
constexpr Micros kPaceWindow = std::chrono::minutes(1);
// Postgres sends a commit within this time if the commit is flushed immediately.
constexpr Micros kLateAtPostgres = std::chrono::milliseconds(50);

}  // namespace

// The maximum over the points of a minute, because a median of medians is not a median.
std::optional<Throughput> ThroughputOf(const std::vector<HistoryPoint>& history) {
  Throughput throughput;
  Micros span{0};
  uint64_t events = 0;
  for (auto point = history.rbegin(); point != history.rend() && span < kPaceWindow; ++point) {
    span += point->span;
    events += point->events;
    throughput.median = std::max(throughput.median, point->median);
    throughput.slowest = std::max(throughput.slowest, point->slowest);
    if (point->stages) {
      StageMedians& stages = throughput.stages ? *throughput.stages : throughput.stages.emplace();
      stages.postgres = std::max(stages.postgres, point->stages->postgres);
      stages.relay = std::max(stages.relay, point->stages->relay);
      stages.kafka = std::max(stages.kafka, point->stages->kafka);
    }
  }
  // No interval has ended since the start.
  if (span.count() == 0) {
    return std::nullopt;
  }
  throughput.events_per_second =
      static_cast<double>(events) / std::chrono::duration<double>(span).count();
  return throughput;
}

// Names the stage to look at, but only when it dominates.
std::string StageWords(const Throughput& throughput) {
  if (!throughput.stages) {
    return "";
  }
  const StageMedians& stages = *throughput.stages;
  const std::string text = fmt::format("Postgres {}, walrelay and the network {}, Kafka {}",
                                       FormatDuration(stages.postgres),
                                       FormatDuration(stages.relay), FormatDuration(stages.kafka));
  const bool late = stages.postgres > kLateAtPostgres && stages.postgres > stages.kafka;
  return late ? text +
                    ". Most of the latency arises before Postgres sends a commit: writers use "
                    "synchronous_commit = off, or walrelay is processing a backlog"
              : text;
}

}  // namespace walrelay
