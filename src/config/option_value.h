// The value of an option: converts a value from TOML, a variable or a flag to a member of Config.
//
// Pure. Errors are WR-1003 (ConfigValue), without a position; the loader adds it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "config/choices.h"
#include "walrelay/config/column_names.h"
#include "walrelay/error.h"

namespace walrelay {

// A value from TOML, or from the text of a variable or flag.
using RawValue = std::variant<std::string, int64_t, bool, std::vector<std::string>>;

enum class OptionType : uint8_t {
  kString,
  kSecret,
  kBoolean,
  kInteger,
  kDuration,
  kSize,
  kList,
  kNames,
  kChoice
};

// For the reference and for messages. A literal; "?" for a value that is not an enumerator.
std::string_view TypeName(OptionType type);

// Converts the text of an environment variable or a flag to a value of `type`. The items of a list,
// and several names, are separated by commas.
// The function does not know the option: the caller checks choices and ranges.
// Integers have no sign "+", no spaces and no unit; booleans are "true" or "false" only. A list has
// no escapes: an item with a comma can be written in the file only, and "" is the empty list.
absl::StatusOr<RawValue> FromText(OptionType type, std::string_view text);

// WR-1003. `what`: one sentence without a full stop, of the form "expected X". A setter does not
// repeat the value: ApplyOption() adds it.
inline absl::Status InvalidValue(std::string_view what) {
  return Error(ErrorCode::kConfigValue, what);
}

// Each reads one type, and rejects values of another: a number in quotes is not a number.
// The edges: a string and a secret may be empty but contain no zero byte; the names of a column are
// a string, which may be empty, or a list of strings, which may not, nor contain an empty or a
// repeated one; an integer is at least 1, because every integer option is a limit; a duration has
// the form of ParseDuration() and may be 0; a list may be empty. After an error `out` is unchanged.
absl::Status ParseInto(const RawValue& value, std::string& out);
absl::Status ParseInto(const RawValue& value, ColumnNames& out);
absl::Status ParseInto(const RawValue& value, std::optional<ColumnNames>& out);
absl::Status ParseInto(const RawValue& value, Secret& out);
absl::Status ParseInto(const RawValue& value, bool& out);
absl::Status ParseInto(const RawValue& value, int64_t& out);
absl::Status ParseInto(const RawValue& value, Micros& out);
absl::Status ParseInto(const RawValue& value, std::vector<std::string>& out);

template <typename Enum>
requires std::is_enum_v<Enum> absl::Status ParseInto(const RawValue& value, Enum& out) {
  const auto* text = std::get_if<std::string>(&value);
  const auto choice = text != nullptr ? ChoiceNamed<Enum>(*text) : std::nullopt;
  if (!choice) {
    return InvalidValue("unknown value");
  }
  out = *choice;
  return absl::OkStatus();
}

}  // namespace walrelay
