// The table of options: one row a key, from which the loader reads, the reference is printed and
// `walrelay config show` answers. To add an option add a member to Config and a row to option.cc.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "walrelay/config.h"

namespace walrelay {

// A value as TOML has it, or as made from the text of a variable or flag.
using RawValue = std::variant<std::string, int64_t, bool, std::vector<std::string>>;

enum class OptionType : uint8_t {
  kString,
  kSecret,
  kBoolean,
  kInteger,
  kDuration,
  kSize,
  kList,
  kChoice
};

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

std::string_view TypeName(OptionType type);

// The value that a text (of an environment variable or a flag) means for a type: lists are
// separated by commas.
absl::StatusOr<RawValue> FromText(OptionType type, std::string_view text);

}  // namespace walrelay
