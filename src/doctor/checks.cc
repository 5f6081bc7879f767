#include "doctor/checks.h"

#include <fmt/format.h>

#include <algorithm>

namespace walrelay {
namespace {

constexpr std::string_view kIntroduction =
    R"(# What `walrelay doctor` looks at

<!-- Made by `walrelay explain --checks`; a test compares the two. Change src/doctor/checks.def instead. -->

A finding that is not well ends with the name of its check, which `--json` has as `check`; `walrelay explain slot.retained` prints
this page's text for it. `walrelay check` makes those that decide whether a relay would start.

Doctor reads only, and can be run beside a relay at any time; `--write-probe TOPIC` writes one record, to the topic
that is named.
)";

}  // namespace

const CheckEntry* FindCheck(std::string_view name) {
  if (constexpr std::string_view kPrefix = "doctor."; name.starts_with(kPrefix)) {
    name.remove_prefix(kPrefix.size());
  }
  const auto* const found =
      std::find_if(std::begin(kChecks), std::end(kChecks),
                   [&](const CheckEntry& entry) { return entry.name == name; });
  return found == std::end(kChecks) ? nullptr : found;
}

std::string CheckReference() {
  std::string out(kIntroduction);
  std::string_view group;
  for (const CheckEntry& entry : kChecks) {
    if (const std::string_view own = entry.name.substr(0, entry.name.find('.')); own != group) {
      group = own;
      out += fmt::format("\n## {}\n", group);
    }
    out += fmt::format("\n### `{}`\n\n{}\n\n*Why.* {}\n\n*What to do.* {}\n", entry.name,
                       entry.looks_at, entry.why, entry.remedy);
  }
  return out;
}

}  // namespace walrelay
