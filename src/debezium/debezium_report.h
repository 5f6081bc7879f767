// The results of an import: the refusals, walrelay.toml, and the report of every property.
//
// Pure: texts from an import.
#pragma once

#include <string>

#include "absl/status/status.h"

namespace walrelay {

struct DebeziumImport;

// WR-1007 with each refused property, or OK.
// All refusals in one message, with the settings that would override them in the hint.
absl::Status RefusalOf(const DebeziumImport& import);

// The settings as walrelay.toml. Secrets are written only if `with_secrets`; otherwise a comment
// marks their places.
std::string ImportedToml(const DebeziumImport& import, bool with_secrets);

// Every property, by outcome; never a secret. Ends with the settings that the operator must supply.
std::string ImportReport(const DebeziumImport& import);

// One line: "a connector's properties in JSON: 12 translated, …".
std::string ImportSummary(const DebeziumImport& import);

}  // namespace walrelay
