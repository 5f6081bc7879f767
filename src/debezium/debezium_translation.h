// The translation of a connector's properties: settings of walrelay, and one of four bins for each
// property. Every property has an outcome; nothing is dropped silently.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "walrelay/config/kafka.h"
#include "walrelay/config/outbox_table.h"

namespace walrelay {

struct Config;

// Names as in Kafka Connect.
using DebeziumOptions = std::map<std::string, std::string, std::less<>>;

// The value of an option, or `otherwise`.
std::string ValueOr(const DebeziumOptions& options, std::string_view name,
                    std::string_view otherwise);

enum class PropertyOutcome : uint8_t {
  kTranslated,   // translated to a setting of walrelay
  kEquivalent,   // checked: walrelay behaves the same
  kMeaningless,  // not applicable to walrelay; the note gives the reason
  kRefused,      // requires behaviour that walrelay does not reproduce
};

// The result for one property.
struct PropertyResult {
  PropertyOutcome outcome;
  // kTranslated: the resulting settings, for reports. kRefused: the setting with which an operator
  // can override; "" if there is none.
  std::string setting;
  std::string note;  // never contains a secret
};

PropertyResult Translated(std::string setting, std::string note = "");
PropertyResult Equivalent(std::string note);
PropertyResult Meaningless(std::string_view note);
PropertyResult Refused(std::string note, std::string setting = "");

// Collected from all properties; later ones may change what earlier ones have set.
struct DebeziumTranslation {
  // "section.key" and its value, as on the command line (--set); some are secrets.
  std::map<std::string, std::string> settings;
  std::vector<std::string> tables;  // "schema.table", when there are several
  std::vector<Placement> placements;
  std::vector<ColumnTransform> transforms;
  std::vector<TopicRule> topic_rules;
  std::vector<std::string> required;  // required settings that no property provides

  // Sets `setting`; returns the result of the property.
  PropertyResult Set(const std::string& setting, std::string value, std::string note = "");
  // For a value that Connect would fetch from a config provider: the operator must supply
  // `setting`.
  PropertyResult Want(const std::string& setting);
};

// Applies the translation to `config`. Errors: WR-1003.
// REQUIRES: config.source.tables is not empty. Each value is checked like one from a flag; the
// placements, transforms and rules for topics replace those of `config`, and several tables replace
// its tables.
absl::Status ApplyTranslation(const DebeziumTranslation& translation, Config& config);

// Java's trim(), toLowerCase() and split().
// Characters up to U+0020, as in Java; std::isspace() depends on the locale.
std::string JavaTrim(std::string_view text);
std::string JavaLower(std::string_view text);  // trimmed too
// Without empty parts at the end, as String.split().
// At least one part: "" yields one empty part, as in Java.
std::vector<std::string> JavaSplit(std::string_view text, char separator);

// The only text that a regular expression matches. "": it may match several.
std::string LiteralOf(std::string_view regex);

}  // namespace walrelay
