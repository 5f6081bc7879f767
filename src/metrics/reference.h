// docs/reference/metrics.md, made from the catalogue.
#pragma once

#include <string>

namespace walrelay {

// Markdown.
std::string MetricReference();

}  // namespace walrelay
