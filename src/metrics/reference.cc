#include "metrics/reference.h"

#include <fmt/format.h>

#include "metrics/metrics.h"

namespace walrelay {
namespace {

constexpr std::string_view kIntroduction =
    R"(# Metrics

<!-- Made by `walrelay explain --metrics`; a test compares the two. Change src/metrics/catalogue.def instead. -->

What `/metrics` serves. Every series carries the label `slot`; the column "label" names a further one. A series is
there from its first use: what an instance that stands by does not do, it does not show, so that `max by (slot)` over
all instances is the truth. Counters count since the start of the process.
)";

}  // namespace

std::string MetricReference() {
  std::string out(kIntroduction);
  std::string_view section;
  for (const MetricEntry& entry : Metrics::Catalogue()) {
    if (entry.section != section) {
      section = entry.section;
      out += fmt::format(
          "\n## {}\n\n| metric | type | label | meaning |\n| --- | --- | --- | --- |\n", section);
    }
    out += fmt::format("| `{}` | {} | {} | {} |\n", entry.name, entry.type,
                       entry.label.empty() ? "" : fmt::format("`{}`", entry.label), entry.help);
  }
  return out;
}

}  // namespace walrelay
