// From the options of a Debezium connector with the outbox EventRouter to walrelay's.
//
// One table says what becomes of each option, so that whoever translates a connector's
// configuration says the same. What walrelay would do otherwise than Debezium without telling is
// refused, by name and with the reason.
//
// Source: io.debezium.transforms.outbox.EventRouterConfigDefinition, Debezium 3.6.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "walrelay/config.h"

namespace walrelay {

using DebeziumOptions = std::map<std::string, std::string>;

struct DebeziumTranslation {
  // "section.key" and its value, as on the command line (--set).
  std::map<std::string, std::string> settings;
  std::vector<Placement> placements;
};

// `router` are the EventRouter's options without their prefix ("transforms.outbox."), `connector`
// the connector's own, its converters among them. An option that neither has is ignored, as Connect
// does. Errors: WR-1003 (ConfigValue), naming the option.
absl::StatusOr<DebeziumTranslation> TranslateDebezium(const DebeziumOptions& router,
                                                      const DebeziumOptions& connector);

// Puts it into a configuration, for its first table. Errors: WR-1003.
absl::Status ApplyTranslation(const DebeziumTranslation& translation, Config& config);

}  // namespace walrelay
