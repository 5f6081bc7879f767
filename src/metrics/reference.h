// docs/reference/metrics.md, generated from the catalogue.
//
// Pure; `walrelay explain --metrics` prints it.
#pragma once

#include <string>

namespace walrelay {

// The reference of all metrics in Markdown. A test compares docs/reference/metrics.md with it.
std::string MetricReference();

}  // namespace walrelay
