// What a connector's properties become: settings of walrelay, and of each property which of four
// bins it fell into. The bins are all there are; nothing is dropped without a word.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "walrelay/config.h"

namespace walrelay {

// Names as Kafka Connect spells them.
using DebeziumOptions = std::map<std::string, std::string, std::less<>>;

// The value of an option, or `otherwise`.
std::string ValueOr(const DebeziumOptions& options, std::string_view name,
                    std::string_view otherwise);

enum class Bin : uint8_t {
  kTranslated,   // is a setting of walrelay
  kEquivalent,   // looked at: walrelay does the same
  kMeaningless,  // about something that walrelay does not have; the note says why
  kRefused,      // asks for what walrelay does not do the same way
};

struct Fate {
  Bin bin;
  // kTranslated: the settings it became, for people. kRefused: the setting by which an operator
  // decides instead; "" when there is none.
  std::string setting;
  std::string note;  // never holds a secret
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
  std::vector<std::string> wanted;  // settings that are needed, and that no property gives

  // Sets one and says so.
  Fate Set(const std::string& setting, std::string value, std::string note = "");
  // For a value that the file does not hold, but names where Connect would fetch it.
  Fate Want(const std::string& setting);
};

// Puts it into a configuration. Errors: WR-1003.
absl::Status ApplyTranslation(const DebeziumTranslation& translation, Config& config);

// Text as Java's trim() and toLowerCase() leave it, and parts as its split() makes them.
std::string JavaTrim(std::string_view text);
std::string JavaLower(std::string_view text);  // trimmed too
std::vector<std::string> JavaSplit(std::string_view text, char separator);

// The one text that a regular expression matches. "": it may match several.
std::string LiteralOf(std::string_view regex);

}  // namespace walrelay
