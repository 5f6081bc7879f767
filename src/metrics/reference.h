// docs/reference/metrics.md, generated from the catalogue.
#pragma once

#include <string>

namespace walrelay {

// The reference of all metrics in Markdown. A test compares docs/reference/metrics.md with it.
std::string MetricReference();

}  // namespace walrelay
