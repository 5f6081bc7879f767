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
  LatencyMetric(prometheus::Family<prometheus::Histogram>& family, prometheus::Labels labels);

  // A negative latency (possible because it is measured with two clocks) counts as zero.
  // Buckets include their upper bound, as Prometheus' "le" does; a latency of more than an hour is
  // in the last one. Allocates nothing.
  void Observe(Micros latency);
  // Adds what was observed since the last call. Once per iteration of the owner's loop.
  void Flush();
  // Removes the series, and what was not flushed.
  void Clear();

 private:
  // Discards what was observed since the last Flush().
  void Forget();

  prometheus::Family<prometheus::Histogram>* family_;
  prometheus::Labels labels_;
  prometheus::Histogram* series_ = nullptr;
  std::vector<double>
      counts_;  // by bucket, since the last Flush(); the last is the overflow bucket
  Micros sum_{0};
  bool flushed_ = true;
};

// `labels` with one more.
prometheus::Labels WithLabel(prometheus::Labels labels, const std::string& name,
                             std::string_view value);

// One LatencyMetric per value of a label beside the pipeline's. References stay valid until
// Clear().
// REQUIRES: the label's values are a fixed set. Same owner as its LatencyMetrics; `pipeline` must
// outlive it.
class LabelledLatencyMetric {
 public:
  LabelledLatencyMetric(prometheus::Family<prometheus::Histogram>& family,
                        const prometheus::Labels& pipeline, std::string label)
      : family_(&family), pipeline_(&pipeline), label_(std::move(label)) {}

  // Creates the metric at the first use of `value`, which is copied.
  LatencyMetric& operator[](std::string_view value);
  // Flushes each value's metric; same rules.
  void Flush();
  // Removes all series.
  void Clear();

 private:
  prometheus::Family<prometheus::Histogram>* family_;
  const prometheus::Labels* pipeline_;
  std::string label_;
  StringMap<std::unique_ptr<LatencyMetric>> series_;
};

}  // namespace walrelay
