// LatencyMetric: a histogram of latencies, from half a millisecond to an hour.
//
// Prometheus' own histogram takes a lock for each observation; here a turn's are gathered without
// one, and handed over by Flush(). The series appears with the first of them.
//
// Threads: one owner. What is scraped is what was flushed.
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

class LatencyMetric {
 public:
  // `family` must outlive it.
  explicit LatencyMetric(prometheus::Family<prometheus::Histogram>& family,
                         prometheus::Labels labels = {});

  // A negative one, which two clocks can make of a short one, counts as zero.
  void Observe(Micros latency);
  void Flush();

 private:
  prometheus::Family<prometheus::Histogram>* family_;
  prometheus::Labels labels_;
  prometheus::Histogram* series_ = nullptr;
  std::vector<double> counts_;  // by bucket, since the last Flush(); the last is what exceeds all
  Micros sum_{0};
  bool flushed_ = true;
};

// One for each value of a label. References stay valid.
class LabelledLatencyMetric {
 public:
  LabelledLatencyMetric(prometheus::Family<prometheus::Histogram>& family, std::string label)
      : family_(&family), label_(std::move(label)) {}

  LatencyMetric& operator[](std::string_view value);
  void Flush();

 private:
  prometheus::Family<prometheus::Histogram>* family_;
  std::string label_;
  StringMap<std::unique_ptr<LatencyMetric>> series_;
};

}  // namespace walrelay
