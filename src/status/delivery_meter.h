// DeliveryMeter: measures acknowledged events: their latency, their number by topic, and the points
// of the status page's chart.
//
// Single-threaded; other threads read the metrics.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "metrics/metrics.h"
#include "status/latency_window.h"
#include "status/stage_latencies.h"
#include "status/status_board.h"
#include "walrelay/clock.h"
#include "walrelay/sink.h"

namespace walrelay {

class DeliveryMeter {
 public:
  // `metrics` must outlive it. Topics beyond `max_topics` share one series.
  DeliveryMeter(Metrics& metrics, int64_t max_topics)
      : metrics_(metrics), max_topics_(static_cast<size_t>(max_topics)), stages_(metrics) {}

  // A record was acknowledged, and its report arrived at `now`. Called for each event.
  void OnDelivered(const Delivery& delivery, WallTime commit_time, WallTime now);
  // Returns the point of the chart that ends at `now`, from the events since the last one; nullopt
  // unless ten seconds have passed since then, or since the first call. `wall`: the time of the
  // point. REQUIRES: `now` does not decrease.
  std::optional<HistoryPoint> TakePoint(MonoTime now, WallTime wall);

  // By all sessions and producers since the process began; it only grows.
  uint64_t acknowledged() const { return acknowledged_; }
  // When the last of them was acknowledged; nullopt: none was.
  std::optional<WallTime> last_acknowledged() const { return last_acknowledged_; }
  // Latencies by stage; the session adds the first two, OnDelivered() the third. Valid as long as
  // this object.
  StageLatencies& stages() { return stages_; }

 private:
  // The series of the topic, or the common one of those beyond the limit. Valid as long as the
  // metrics.
  prometheus::Counter& TopicCounter(std::string_view topic);

  Metrics& metrics_;
  const size_t max_topics_;
  StageLatencies stages_;
  uint64_t acknowledged_ = 0;
  std::optional<WallTime> last_acknowledged_;
  LatencyWindow latencies_;  // since the last point
  std::optional<MonoTime> last_point_;
  std::string last_topic_;  // of the last delivery; last_topic_counter_ is its series
  prometheus::Counter* last_topic_counter_ = nullptr;
};

}  // namespace walrelay
