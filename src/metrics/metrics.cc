#include "metrics/metrics.h"

#include <prometheus/text_serializer.h>

namespace walrelay {
namespace {

// The constructors differ: a metric with a label takes its name.
template <typename Metric, typename Family>
Metric Make(Family& family, const char* label) {
  if constexpr (std::is_constructible_v<Metric, Family&, std::string>) {
    return Metric(family, label);
  } else {
    return Metric(family);
  }
}

}  // namespace

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

// A member initialiser per row: registry_ is initialised first, then each metric with its family.
Metrics::Metrics(const prometheus::Labels& common)
    : registry_(std::make_unique<prometheus::Registry>())
#include "metrics/catalogue.def"
{
}

#undef WALRELAY_COUNTER
#undef WALRELAY_GAUGE
#undef WALRELAY_HISTOGRAM
#undef WALRELAY_METRIC

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
