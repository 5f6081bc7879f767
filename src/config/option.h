// The table of options: one row a key, from which the loader reads, the reference is printed and
// `walrelay config show` answers. To add an option add a member to Config and a row to option.cc.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "config/option_value.h"
#include "walrelay/config.h"

namespace walrelay {

struct Option {
  std::string_view section;
  std::string_view key;
  OptionType type;
  std::string_view choices;  // of kChoice: "a, b, c"
  std::string_view doc;

  // Errors are sentences without a place; the loader adds it.
  absl::Status (*set)(Config& config, const RawValue& value);
  // As it would be written in TOML; secrets as "***".
  std::string (*show)(const Config& config);

  std::string Name() const;
};

// Every option, in the order of the reference: sections stay together.
std::span<const Option> Options();
const Option* FindOption(std::string_view section, std::string_view key);
const Option* FindOption(std::string_view name);  // "section.key"

// The present name of an option that had another one: "route.rules" is now "route.compatibility".
// "": no option ever had this name.
std::string_view RenamedTo(std::string_view old_name);

// What follows is a property of librdkafka, by its own name.
inline constexpr std::string_view kPassThroughPrefix = "kafka.librdkafka.";

// Whether a property of librdkafka holds a secret, or may.
bool IsSecretProperty(std::string_view property);

}  // namespace walrelay
