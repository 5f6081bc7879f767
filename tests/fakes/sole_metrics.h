// Metrics of the only pipeline of a registry, which they own.
#pragma once

#include <string>

#include "metrics/metrics.h"

namespace walrelay::testing {

struct OwnedRegistry {
  MetricsRegistry registry;
};

// The registry is a base, because it must exist before the metrics.
class SoleMetrics : private OwnedRegistry, public Metrics {
 public:
  explicit SoleMetrics(const PipelineIdentity& pipeline = {"db/shop", "walrelay"})
      : Metrics(registry, pipeline) {}

  const MetricsRegistry& page() const { return registry; }
  std::string Text() const { return registry.Text(); }
};

}  // namespace walrelay::testing
