// The table of options, one row per key. The loader, the reference and `walrelay config show` use
// it. To add an option, add a member to Config and a row to option.cc.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "config/option_value.h"
#include "walrelay/config.h"

namespace walrelay {

// A row of the table. All views are of literals.
struct Option {
  std::string_view section;
  std::string_view key;
  OptionType type;
  std::span<const std::string_view> choices;  // of kChoice
  std::string_view doc;

  // Error messages contain no position; the loader adds it.
  absl::Status (*set)(Config& config, const RawValue& value);
  // The value as TOML; secrets as "***".
  std::string (*show)(const Config& config);

  std::string Name() const;
};

// Every option, in the order of the reference, grouped by section.
std::span<const Option> Options();
const Option* FindOption(std::string_view section, std::string_view key);
const Option* FindOption(std::string_view name);  // "section.key"

// The present name of a renamed option: "route.rules" is now "route.compatibility".
// "" if no option ever had this name.
std::string_view RenamedTo(std::string_view old_name);

// Prefix of librdkafka properties, which keep their own names.
inline constexpr std::string_view kPassThroughPrefix = "kafka.librdkafka.";

// Whether a property of librdkafka contains a secret, or may contain one.
bool IsSecretProperty(std::string_view property);

}  // namespace walrelay
