// Metrics: the counters, gauges and histograms of a pipeline, as catalogued in catalogue.def.
//
// Every series has the labels `source` and `slot` of its pipeline. The pipelines of a process share
// a MetricsRegistry, which is the page that Prometheus scrapes.
//
// Threads: any thread may change values and call Text(), except for latencies, which have one
// owner. Families with a label return a series per label value; the references stay valid. A series
// exists from its first use: a standby has no series for the work that it does not do.
#pragma once

#include <prometheus/counter.h>
#include <prometheus/family.h>
#include <prometheus/gauge.h>
#include <prometheus/registry.h>

#include <string>
#include <string_view>
#include <vector>

#include "base/string_hash.h"
#include "metrics/latency_metric.h"
#include "walrelay/pipeline_identity.h"

namespace walrelay {

// The families of all pipelines of a process. Thread-safe.
class MetricsRegistry {
 public:
  // All metrics in Prometheus' text format, version 0.0.4.
  // Locks each family for a moment, in which a thread that changes a series waits.
  std::string Text() const;

 private:
  friend class Metrics;
  prometheus::Registry families_;
};

// A metric with one label beside the pipeline's: one series per value. A lookup costs one hash;
// only on the owner's thread. `pipeline` and `family` must outlive it.
// REQUIRES: the number of values is bounded; the caller checks size() for values that come from
// rows.
template <typename Series>
class LabelledMetric {
 public:
  LabelledMetric(prometheus::Family<Series>& family, const prometheus::Labels& pipeline,
                 std::string label)
      : family_(&family), pipeline_(&pipeline), label_(std::move(label)) {}

  // `value` is copied. May be any UTF-8 text: the serializer escapes it.
  Series& operator[](std::string_view value) {
    auto found = series_.find(value);
    if (found == series_.end()) {
      Series& series = family_->Add(WithLabel(*pipeline_, label_, value));
      found = series_.emplace(std::string(value), &series).first;
    }
    return *found->second;
  }

  // Number of values so far.
  size_t size() const { return series_.size(); }
  // True also if the series' value is 0.
  bool contains(std::string_view value) const { return series_.contains(value); }

  // Sets the series of `value` to 1 and all others to 0, for a metric that represents a state.
  // Creates the series of `value` if it does not exist yet. A scrape in between may see two series
  // at 1 or none.
  void SetOnly(std::string_view value) requires std::is_same_v<Series, prometheus::Gauge> {
    (*this)[value];
    for (auto& [name, series] : series_) {
      series->Set(name == value ? 1 : 0);
    }
  }

  // Removes the series of `value`, if there is one. References to it are invalid afterwards.
  void Remove(std::string_view value) {
    if (const auto found = series_.find(value); found != series_.end()) {
      family_->Remove(found->second);
      series_.erase(found);
    }
  }

  // Removes all series. References to them are invalid afterwards.
  void Clear() {
    for (auto& [name, series] : series_) {
      family_->Remove(series);
    }
    series_.clear();
  }

 private:
  prometheus::Family<Series>* family_;
  const prometheus::Labels* pipeline_;
  std::string label_;
  StringMap<Series*> series_;
};

// A metric without a label beside the pipeline's. The series exists from its first value until
// Clear(). `pipeline` and `family` must outlive it.
// REQUIRES: only one thread uses a metric at a time; the first use creates the series without a
// lock. Changes of an existing series are atomic.
template <typename Series>
class PlainMetric {
 public:
  PlainMetric(prometheus::Family<Series>& family, const prometheus::Labels& pipeline)
      : family_(&family), pipeline_(&pipeline) {}

  Series& operator*() {
    if (series_ == nullptr) {
      series_ = &family_->Add(*pipeline_);
    }
    return *series_;
  }
  Series* operator->() { return &**this; }

  // Removes the series, for a value that is no longer known: an old value would look like a
  // measurement. References to it are invalid afterwards. Does nothing without a series.
  void Clear() {
    if (series_ != nullptr) {
      family_->Remove(series_);
      series_ = nullptr;
    }
  }

 private:
  prometheus::Family<Series>* family_;
  const prometheus::Labels* pipeline_;
  Series* series_ = nullptr;
};

// A row of the catalogue, for the documentation.
// The documentation is generated from the same rows as the members, so it cannot be incomplete.
// All views are of literals.
struct MetricEntry {
  std::string_view section;  // its title
  std::string_view type;     // counter, gauge, histogram
  std::string_view name;
  std::string_view label;  // beside `source` and `slot`; "": none
  std::string_view help;
};

class Metrics {
 public:
  // Registers the families that `registry` does not have yet; a family without a series is not part
  // of its text. `registry` must outlive it. REQUIRES: no other Metrics of the registry has the
  // same identity; they would share their series.
  Metrics(MetricsRegistry& registry, const PipelineIdentity& pipeline);
  // Removes the series of the pipeline from the registry.
  ~Metrics();

  Metrics(const Metrics&) = delete;
  Metrics& operator=(const Metrics&) = delete;

  // In the order of catalogue.def. Needs no Metrics object.
  static std::vector<MetricEntry> Catalogue();

  // Call it at the end of each iteration of the owner's loop.
  // Latencies that were observed since the last call are not in Text() before it.
  void FlushLatencies();

 private:
  // Before the members below, which refer to it.
  const prometheus::Labels pipeline_;

  // One member per row of the catalogue, of the type that its kind and label determine.
 public:
#define WALRELAY_METRIC(Series, member, label) \
  std::conditional_t<sizeof(label) == 1, PlainMetric<Series>, LabelledMetric<Series>> member;
#define WALRELAY_COUNTER(member, name, label, help) \
  WALRELAY_METRIC(prometheus::Counter, member, label)
#define WALRELAY_GAUGE(member, name, label, help) WALRELAY_METRIC(prometheus::Gauge, member, label)
#define WALRELAY_HISTOGRAM(member, name, label, help) \
  std::conditional_t<sizeof(label) == 1, LatencyMetric, LabelledLatencyMetric> member;
#include "metrics/catalogue.def"
#undef WALRELAY_COUNTER
#undef WALRELAY_GAUGE
#undef WALRELAY_HISTOGRAM
#undef WALRELAY_METRIC
};

}  // namespace walrelay
