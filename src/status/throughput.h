// Throughput: the pace of the last minute, from the history of a status report.
//
// Pure.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "status/status_board.h"
#include "walrelay/clock.h"

namespace walrelay {

// Aggregates the last minute of the history; nullopt if the history is empty.
struct Throughput {
  double events_per_second = 0;
  std::optional<Micros> median;
  std::optional<Micros> slowest;
  std::optional<StageMedians> stages;
};
// `history`: oldest first. The medians are the greatest of the minute's points, because a median of
// medians is not a median.
std::optional<Throughput> ThroughputOf(const std::vector<HistoryPoint>& history);
// The latency by stage, with the cause if most of it arises before Postgres sends a commit; "" if
// nothing was measured.
std::string StageWords(const Throughput& throughput);

}  // namespace walrelay
