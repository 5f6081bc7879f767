// The table of options, one row per key. The loader, the reference and `walrelay config show` use
// it. The rows are in the sections (config/section.h).
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "config/option_value.h"

namespace walrelay {

struct Config;

// The values that an option may have, where its type allows more.
struct OptionRange {
  std::string_view expected;                      // "at least one second"
  bool (*holds)(const Config& config) = nullptr;  // nullptr: all values of the type
};

// A row of the table. All views are of literals.
// REQUIRES for `set` and `show`: config.source.tables is not empty; options of a table use its
// first element. Both are stateless functions and may be called from any thread.
struct Option {
  // The table of the TOML file, "source" or "source.columns".
  std::string_view section;
  std::string_view key;
  OptionType type;
  std::span<const std::string_view> choices;  // of kChoice
  // Markdown, one line: a cell of the table in docs/configuration.md.
  std::string_view doc;

  // Error messages contain no position; the loader adds it.
  // Does not check a choice of an option whose member is text (compression): use ApplyOption().
  // Errors: WR-1003.
  absl::Status (*set)(Config& config, const RawValue& value);
  // The value as TOML; secrets as "***".
  // An absent column name is `auto`, which is not TOML.
  std::string (*show)(const Config& config);
  OptionRange range = {};

  // "section.key", as --set, error messages and LoadedConfig::origins use it.
  std::string Name() const;
};

// "kafka.bootstrap_servers" → "WALRELAY_KAFKA__BOOTSTRAP_SERVERS".
std::string VariableOf(const Option& option);

// Every option, in the order of the reference, grouped by section.
// The table has static storage duration: pointers and views stay valid for the life of the process.
std::span<const Option> Options();
// nullptr for an unknown option and for a renamed one. The properties of librdkafka,
// [[source.placement]], [[source.tables]] and [[kafka.topics.rules]] are not rows of the table and
// are not found.
const Option* FindOption(std::string_view section, std::string_view key);
const Option* FindOption(std::string_view name);  // "section.key"

// Whether the value is a secret, or may contain one (source.dsn): no message repeats it.
bool HoldsSecret(const Option& option);

// Prefix of librdkafka properties, which keep their own names.
inline constexpr std::string_view kPassThroughPrefix = "kafka.librdkafka.";

// Whether a property of librdkafka contains a secret, or may contain one.
// Compares parts of the name ("password", "secret", ".pem"): a property may be masked although it
// is harmless, never the reverse. `property`: without kPassThroughPrefix, lower case as librdkafka
// writes it.
bool IsSecretProperty(std::string_view property);

}  // namespace walrelay
