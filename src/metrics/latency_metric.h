// LatencyMetric: a histogram of latencies, from half a millisecond to an hour.
//
// Prometheus' own histogram acquires a lock for each observation. This class collects the
// observations of one loop iteration without a lock, and Flush() adds them to the histogram. The
// series exists from the first Flush() with an observation.
//
// Threads: one owner. A scrape returns the flushed observations.
#pragma once

#include <prometheus/family.h>
#include <prometheus/histogram.h>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/string_hash.h"
#include "walrelay/clock.h"

namespace walrelay {

// Observations that were not flushed are lost when it is destroyed.
class LatencyMetric {
 public:
  // `family` must outlive it.
  // The series is created by the first Flush() with an observation.
  explicit LatencyMetric(prometheus::Family<prometheus::Histogram>& family,
                         prometheus::Labels labels = {});

  // A negative latency (possible because it is measured with two clocks) counts as zero.
  // Buckets include their upper bound, as Prometheus' "le" does; a latency of more than an hour is
  // in the last one. Allocates nothing.
  void Observe(Micros latency);
  // Adds what was observed since the last call. Once per iteration of the owner's loop.
  void Flush();

 private:
  prometheus::Family<prometheus::Histogram>* family_;
  prometheus::Labels labels_;
  prometheus::Histogram* series_ = nullptr;
  std::vector<double>
      counts_;  // by bucket, since the last Flush(); the last is the overflow bucket
  Micros sum_{0};
  bool flushed_ = true;
};

// One LatencyMetric per value of a label. References stay valid.
// REQUIRES: the label's values are a fixed set; a series is never removed. Same owner as its
// LatencyMetrics.
class LabelledLatencyMetric {
 public:
  LabelledLatencyMetric(prometheus::Family<prometheus::Histogram>& family, std::string label)
      : family_(&family), label_(std::move(label)) {}

  // Creates the metric at the first use of `value`, which is copied.
  LatencyMetric& operator[](std::string_view value);
  // Flushes each value's metric; same rules.
  void Flush();

 private:
  prometheus::Family<prometheus::Histogram>* family_;
  std::string label_;
  StringMap<std::unique_ptr<LatencyMetric>> series_;
};

}  // namespace walrelay
