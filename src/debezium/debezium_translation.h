// The translation of a connector's properties: settings of walrelay, and one of four bins for each
// property. Every property is in a bin; nothing is dropped silently.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "walrelay/config.h"

namespace walrelay {

// Names as in Kafka Connect.
using DebeziumOptions = std::map<std::string, std::string, std::less<>>;

// The value of an option, or `otherwise`.
std::string ValueOr(const DebeziumOptions& options, std::string_view name,
                    std::string_view otherwise);

enum class Bin : uint8_t {
  kTranslated,   // translated to a setting of walrelay
  kEquivalent,   // checked: walrelay behaves the same
  kMeaningless,  // not applicable to walrelay; the note gives the reason
  kRefused,      // requires behaviour that walrelay does not reproduce
};

struct Fate {
  Bin bin;
  // kTranslated: the resulting settings, for reports. kRefused: the setting with which an operator
  // can override; "" if there is none.
  std::string setting;
  std::string note;  // never contains a secret
};

Fate Translated(std::string setting, std::string note = "");
Fate Equivalent(std::string note);
Fate Meaningless(std::string_view note);
Fate Refused(std::string note, std::string setting = "");

struct DebeziumTranslation {
  // "section.key" and its value, as on the command line (--set); some are secrets.
  std::map<std::string, std::string> settings;
  std::vector<std::string> tables;  // "schema.table", when there are several
  std::vector<Placement> placements;
  std::vector<std::string> wanted;  // required settings that no property provides

  // Sets `setting`; returns the fate of the property.
  Fate Set(const std::string& setting, std::string value, std::string note = "");
  // For a value that Connect would fetch from a config provider: the operator must supply
  // `setting`.
  Fate Want(const std::string& setting);
};

// Applies the translation to `config`. Errors: WR-1003.
absl::Status ApplyTranslation(const DebeziumTranslation& translation, Config& config);

// Java's trim(), toLowerCase() and split().
std::string JavaTrim(std::string_view text);
std::string JavaLower(std::string_view text);  // trimmed too
std::vector<std::string> JavaSplit(std::string_view text, char separator);

// The only text that a regular expression matches. "": it may match several.
std::string LiteralOf(std::string_view regex);

}  // namespace walrelay
