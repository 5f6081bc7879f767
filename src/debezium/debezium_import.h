// Converts a connector's configuration to a configuration of walrelay, with a report of every
// property.
//
// Pure: text in, settings and report out. Used by `walrelay import debezium`, and by the loader if
// the configuration file is a connector's instead of a walrelay.toml.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "debezium/debezium_translation.h"

namespace walrelay {

// All three parts influence each other, so they are translated together.
struct ImportInput {
  std::string_view connector;  // the file's text
  std::string_view worker;     // the Connect worker's .properties, or ""
  // Names of settings that the operator sets, such as "format.value": they override properties that
  // would otherwise be refused.
  std::set<std::string> overrides;
};

struct ImportedProperty {
  std::string name;  // name as in the file
  PropertyResult result;
};

// The result of translating a connector's configuration. May contain secrets.
struct DebeziumImport {
  std::string form;  // the kind of file, for reports
  DebeziumTranslation translation;
  std::vector<ImportedProperty> properties;  // in the order of the file

  size_t Count(PropertyOutcome outcome) const;
};

// Errors: WR-1001; WR-1007 for a file without an outbox EventRouter. Refused properties are not an
// error here.
// `input` need not outlive the call.
absl::StatusOr<DebeziumImport> ImportDebezium(const ImportInput& input);

}  // namespace walrelay
