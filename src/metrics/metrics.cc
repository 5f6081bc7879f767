#include "metrics/metrics.h"

#include <prometheus/text_serializer.h>

namespace walrelay {
namespace {

// 5 ms … 1 h around the usual, and finer below: a relay that is well acknowledges within a
// millisecond.
const prometheus::Histogram::BucketBoundaries& LatencyBuckets() {
  static const prometheus::Histogram::BucketBoundaries buckets = {
      .0005, .001, .0025, .005, .01, .025, .05, .1,   .25, .5,
      1,     2.5,  5,     10,   30,  60,   300, 1800, 3600};
  return buckets;
}

template <typename Metric, typename Family>
Metric Make(Family& family, const char* label) {
  if constexpr (std::is_constructible_v<Metric, Family&, std::string>) {
    return Metric(family, label);
  } else {
    return Metric(family);
  }
}

}  // namespace

template <>
prometheus::Histogram& AddSeries(prometheus::Family<prometheus::Histogram>& family,
                                 const prometheus::Labels& labels) {
  return family.Add(labels, LatencyBuckets());
}

#define WALRELAY_METRIC(Builder, member, name, label, help) \
  , member(Make<decltype(member)>(                          \
        prometheus::Builder().Name(name).Help(help).Labels(common).Register(*registry_), label))
#define WALRELAY_COUNTER(member, name, label, help) \
  WALRELAY_METRIC(BuildCounter, member, name, label, help)
#define WALRELAY_GAUGE(member, name, label, help) \
  WALRELAY_METRIC(BuildGauge, member, name, label, help)
#define WALRELAY_HISTOGRAM(member, name, label, help) \
  WALRELAY_METRIC(BuildHistogram, member, name, label, help)

Metrics::Metrics(const std::string& slot) : Metrics(prometheus::Labels{{"slot", slot}}) {}

Metrics::Metrics(const prometheus::Labels& common)
    : registry_(std::make_unique<prometheus::Registry>())
#include "metrics/catalogue.def"
{
}

#undef WALRELAY_COUNTER
#undef WALRELAY_GAUGE
#undef WALRELAY_HISTOGRAM
#undef WALRELAY_METRIC

std::string Metrics::Text() const {
  return prometheus::TextSerializer().Serialize(registry_->Collect());
}

std::vector<MetricEntry> Metrics::Catalogue() {
  std::string_view section;
  std::vector<MetricEntry> entries;
#define WALRELAY_METRICS(title) section = title;
#define WALRELAY_COUNTER(member, name, label, help) \
  entries.push_back({section, "counter", name, label, help});
#define WALRELAY_GAUGE(member, name, label, help) \
  entries.push_back({section, "gauge", name, label, help});
#define WALRELAY_HISTOGRAM(member, name, label, help) \
  entries.push_back({section, "histogram", name, label, help});
#include "metrics/catalogue.def"
#undef WALRELAY_COUNTER
#undef WALRELAY_GAUGE
#undef WALRELAY_HISTOGRAM
  return entries;
}

}  // namespace walrelay
