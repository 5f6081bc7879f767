#include "metrics/metrics.h"

#include <prometheus/text_serializer.h>

namespace walrelay {
namespace {

// The constructors differ: a metric with a label takes its name.
template <typename Metric, typename Family>
Metric Make(Family& family, const prometheus::Labels& pipeline, const char* label) {
  if constexpr (std::is_constructible_v<Metric, Family&, const prometheus::Labels&, std::string>) {
    return Metric(family, pipeline, label);
  } else {
    return Metric(family, pipeline);
  }
}

}  // namespace

#define WALRELAY_METRIC(Builder, member, name, label, help)                                  \
  , member(Make<decltype(member)>(                                                           \
        prometheus::Builder().Name(name).Help(help).Register(registry.families_), pipeline_, \
        label))
#define WALRELAY_COUNTER(member, name, label, help) \
  WALRELAY_METRIC(BuildCounter, member, name, label, help)
#define WALRELAY_GAUGE(member, name, label, help) \
  WALRELAY_METRIC(BuildGauge, member, name, label, help)
#define WALRELAY_HISTOGRAM(member, name, label, help) \
  WALRELAY_METRIC(BuildHistogram, member, name, label, help)

// A member initialiser per row. The registry returns the family that it has under the same name.
Metrics::Metrics(MetricsRegistry& registry, const PipelineIdentity& pipeline)
    : pipeline_{{"source", pipeline.source}, {"slot", pipeline.slot}}
#include "metrics/catalogue.def"
{
}

#undef WALRELAY_COUNTER
#undef WALRELAY_GAUGE
#undef WALRELAY_HISTOGRAM
#undef WALRELAY_METRIC

Metrics::~Metrics() {
#define WALRELAY_COUNTER(member, name, label, help) member.Clear();
#define WALRELAY_GAUGE(member, name, label, help) member.Clear();
#define WALRELAY_HISTOGRAM(member, name, label, help) member.Clear();
#include "metrics/catalogue.def"
#undef WALRELAY_COUNTER
#undef WALRELAY_GAUGE
#undef WALRELAY_HISTOGRAM
}

void Metrics::FlushLatencies() {
#define WALRELAY_COUNTER(member, name, label, help)
#define WALRELAY_GAUGE(member, name, label, help)
#define WALRELAY_HISTOGRAM(member, name, label, help) member.Flush();
#include "metrics/catalogue.def"
#undef WALRELAY_COUNTER
#undef WALRELAY_GAUGE
#undef WALRELAY_HISTOGRAM
}

// Collect() locks each family for a moment; the owner's thread may wait for that long.
std::string MetricsRegistry::Text() const {
  return prometheus::TextSerializer().Serialize(families_.Collect());
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
