// StageLatencies: where the time from a commit to its acknowledgement goes.
//
// Postgres' share is from the commit to the sending, by its clock alone; the relay's, with the
// network, from the sending until the record is handed over; Kafka's from there to the
// acknowledgement. Single-threaded.
#pragma once

#include "metrics/metrics.h"
#include "relay/latency_window.h"

namespace walrelay {

class StageLatency {
 public:
  explicit StageLatency(LatencyMetric& total) : total_(total) {}

  void Add(Micros latency) {
    total_.Observe(latency);
    recent_.Add(latency);
  }
  // Of what was added since the last time; nullopt when nothing was.
  std::optional<Micros> TakeMedian() {
    const auto median = recent_.Quantile(0.5);
    recent_.Clear();
    return median;
  }

 private:
  LatencyMetric& total_;  // since the start, for /metrics
  LatencyWindow recent_;
};

struct StageLatencies {
  explicit StageLatencies(Metrics& metrics)
      : postgres(metrics.stage_seconds["postgres"]),
        relay(metrics.stage_seconds["relay"]),
        kafka(metrics.stage_seconds["kafka"]) {}

  StageLatency postgres;
  StageLatency relay;
  StageLatency kafka;
};

}  // namespace walrelay
