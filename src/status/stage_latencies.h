// StageLatencies: how the time from commit to acknowledgement divides over the stages.
//
// Postgres: from the commit to the send, measured by the server's clock alone. Relay: from the
// send, including the network, until the record is produced. Kafka: from there to the
// acknowledgement. Single-threaded.
#pragma once

#include "metrics/metrics.h"
#include "status/latency_window.h"

namespace walrelay {

// One stage.
class StageLatency {
 public:
  // `total` must outlive it.
  explicit StageLatency(LatencyMetric& total) : total_(total) {}

  void Add(Micros latency) {
    total_.Observe(latency);
    recent_.Add(latency);
  }
  // Median of the latencies added since the last call; nullopt when there were none.
  std::optional<Micros> TakeMedian() {
    const auto median = recent_.Quantile(0.5);
    recent_.Clear();
    return median;
  }

 private:
  LatencyMetric& total_;  // since the start, for /metrics
  LatencyWindow recent_;
};

// In the order in which a transaction passes them. The three do not add up to the total: the second
// one compares two clocks.
// `metrics` must outlive it. The histograms must have no other user: a LatencyMetric has one owner.
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
