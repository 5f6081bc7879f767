// Section: a part of the configuration file: its options with their ranges, and the rules between
// values.
//
// Each section has a source of its own, SECTION_section.cc. To add an option, add a member to the
// section's struct (walrelay/config/) and a row here; a rule between sections is in any one of
// them.
#pragma once

#include <span>

#include "config/config_errors.h"
#include "config/option.h"

namespace walrelay {

struct Section {
  // In the order of the reference, with those of the section's parts, such as [source.columns].
  std::span<const Option> options;
  // Adds the errors that more than one value decides, or that a range cannot express. nullptr if
  // ranges express all rules of the section.
  void (*check)(const Config& config, ConfigNeeds needs, ConfigErrors& errors) = nullptr;
};

extern const Section kSourceSection;
extern const Section kRouteSection;
extern const Section kFormatSection;
extern const Section kOnErrorSection;
extern const Section kKafkaSection;
extern const Section kPipelineSection;
extern const Section kPruneSection;
extern const Section kProcessSection;  // [http], [metrics] and [log]

// In the order of the reference.
std::span<const Section* const> Sections();

}  // namespace walrelay
