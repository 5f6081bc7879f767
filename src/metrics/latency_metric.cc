#include "metrics/latency_metric.h"

#include <algorithm>
#include <array>
#include <chrono>

namespace walrelay {
namespace {

using Seconds = std::chrono::duration<double>;

// Finer at the lower end: the normal latency is about a millisecond.
constexpr std::array<Micros, 19> kBounds = [] {
  using std::chrono::milliseconds;
  using std::chrono::seconds;
  return std::array<Micros, 19>{
      Micros(500),      milliseconds(1),    Micros(2500),      milliseconds(5),   milliseconds(10),
      milliseconds(25), milliseconds(50),   milliseconds(100), milliseconds(250), milliseconds(500),
      seconds(1),       milliseconds(2500), seconds(5),        seconds(10),       seconds(30),
      seconds(60),      seconds(300),       seconds(1800),     seconds(3600)};
}();

prometheus::Histogram::BucketBoundaries InSeconds() {
  prometheus::Histogram::BucketBoundaries bounds;
  for (const Micros bound : kBounds) {
    bounds.push_back(Seconds(bound).count());
  }
  return bounds;
}

}  // namespace

LatencyMetric::LatencyMetric(prometheus::Family<prometheus::Histogram>& family,
                             prometheus::Labels labels)
    : family_(&family), labels_(std::move(labels)), counts_(kBounds.size() + 1) {}

// A bucket includes its upper bound, as in Prometheus ("le").
void LatencyMetric::Observe(Micros latency) {
  // The commit time is that of the server's clock: a difference between the clocks can make a
  // latency negative.
  latency = std::max(latency, Micros(0));
  const auto* const bound = std::lower_bound(kBounds.begin(), kBounds.end(), latency);
  ++counts_[static_cast<size_t>(bound - kBounds.begin())];
  sum_ += latency;
  flushed_ = false;
}

// One lock per flush and not per observation: a loop iteration may acknowledge thousands of
// records.
void LatencyMetric::Flush() {
  if (flushed_) {
    return;
  }
  // Not in the constructor: an instance that measures nothing has no series.
  if (series_ == nullptr) {
    series_ = &family_->Add(labels_, InSeconds());
  }
  series_->ObserveMultiple(counts_, Seconds(sum_).count());
  Forget();
}

void LatencyMetric::Forget() {
  std::fill(counts_.begin(), counts_.end(), 0);
  sum_ = Micros(0);
  flushed_ = true;
}

void LatencyMetric::Clear() {
  if (series_ != nullptr) {
    family_->Remove(series_);
    series_ = nullptr;
  }
  Forget();
}

prometheus::Labels WithLabel(prometheus::Labels labels, const std::string& name,
                             std::string_view value) {
  labels.emplace(name, value);
  return labels;
}

LatencyMetric& LabelledLatencyMetric::operator[](std::string_view value) {
  auto found = series_.find(value);
  if (found == series_.end()) {
    const std::string name(value);
    auto metric = std::make_unique<LatencyMetric>(*family_, WithLabel(*pipeline_, label_, name));
    found = series_.emplace(name, std::move(metric)).first;
  }
  return *found->second;
}

void LabelledLatencyMetric::Clear() {
  for (auto& [value, metric] : series_) {
    metric->Clear();
  }
  series_.clear();
}

void LabelledLatencyMetric::Flush() {
  for (auto& [value, metric] : series_) {
    metric->Flush();
  }
}

}  // namespace walrelay
