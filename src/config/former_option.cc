#include "config/former_option.h"

#include <fmt/format.h>

#include <algorithm>

#include "walrelay/error.h"

namespace walrelay {
namespace {

constexpr FormerOption kFormerOptions[] = {
    {"metrics.slot_interval", "", "metrics.slot_poll_interval", ""},
    {"route.rules", "", "route.compatibility", ""},
    {"pipeline.delivery", "exactly_once", "pipeline.mode", "pipeline.mode = \"exactly_once\""},
    {"pipeline.delivery", "at_least_once", "pipeline.mode",
     "pipeline.mode = \"slot\", or \"topics\" where pipeline.resume is \"topics\""},
    {"pipeline.delivery", "", "pipeline.mode",
     "pipeline.mode, with the values slot, topics and exactly_once"},
    {"pipeline.resume", "topics", "pipeline.mode", "pipeline.mode = \"topics\""},
    {"pipeline.resume", "slot", "pipeline.mode",
     "pipeline.mode = \"slot\", or \"exactly_once\" where pipeline.delivery is \"exactly_once\""},
    {"pipeline.resume", "", "pipeline.mode",
     "pipeline.mode, with the values slot, topics and exactly_once"},
};

}  // namespace

std::span<const FormerOption> FormerOptions() {
  return kFormerOptions;
}

const FormerOption* FindFormerOption(std::string_view name, std::string_view value) {
  // The row for any other value is the last one of its option.
  const auto* found = std::find_if(
      std::begin(kFormerOptions), std::end(kFormerOptions), [&](const FormerOption& row) {
        return row.name == name && (row.value == value || row.value.empty());
      });
  return found == std::end(kFormerOptions) ? nullptr : found;
}

absl::Status FormerOptionError(const FormerOption& former) {
  if (former.now.empty()) {
    return Error(ErrorCode::kConfigUnknownKey,
                 fmt::format("option \"{}\" was renamed to \"{}\"", former.name, former.option));
  }
  const std::string value = former.value.empty() ? "" : fmt::format(" = \"{}\"", former.value);
  return Error(ErrorCode::kConfigUnknownKey,
               fmt::format("{}{} is now {}", former.name, value, former.now),
               fmt::format("Replace the old key; docs/guides/install.md#upgrade lists what "
                           "changed, and docs/configuration.md describes {}.",
                           former.option));
}

}  // namespace walrelay
