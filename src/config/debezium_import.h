// A connector's configuration as a configuration of walrelay, with an account of every property.
//
// Pure: texts in, settings and words out. Used by `walrelay import debezium`, and by the loader
// when it is given such a file instead of walrelay.toml.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "config/debezium_translation.h"

namespace walrelay {

struct ImportInput {
  std::string_view connector;  // the file's text
  std::string_view worker;     // the Connect worker's .properties, or ""
  // Settings that the operator gives himself, as "format.value": what would be refused for lack of
  // them is his decision then.
  std::set<std::string> decided;
};

struct ImportedProperty {
  std::string name;  // as the file spells it
  Fate fate;
};

struct DebeziumImport {
  std::string form;  // what the file is, for people
  DebeziumTranslation translation;
  std::vector<ImportedProperty> properties;  // in the order of the file

  size_t Count(Bin bin) const;
};

// Errors: WR-1001; WR-1007 for a file without an outbox EventRouter. What is refused is no error
// here.
absl::StatusOr<DebeziumImport> ImportDebezium(const ImportInput& input);

// WR-1007 that names each property that is refused, or OK.
absl::Status RefusalOf(const DebeziumImport& import);

// The settings as walrelay.toml. Secrets are written only when `with_secrets`; their places are
// marked otherwise.
std::string ImportedToml(const DebeziumImport& import, bool with_secrets);

// Every property, by bin; never a secret. Ends with what is still to be given.
std::string ImportReport(const DebeziumImport& import);

// In a sentence: "a connector's properties in JSON: 12 translated, …".
std::string ImportSummary(const DebeziumImport& import);

}  // namespace walrelay
