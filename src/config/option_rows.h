// Builders for the rows of the table of options (config/section.h). Each row is built from the
// member that it sets, so that setting and showing cannot diverge.
//
// Templates and not closures: a row is a constant, and its functions need no state.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "config/choices.h"
#include "config/option.h"
#include "config/option_value.h"
#include "config/toml_writer.h"
#include "config/value_text.h"
#include "walrelay/config.h"

namespace walrelay {

// A program with its arguments, as TOML. Arguments may be secrets, such as a token for a vault.
inline std::string ShowCommand(const std::vector<std::string>& command) {
  return ToToml(command.size() < 2 ? command : std::vector<std::string>{command.front(), "***"});
}

// The row of a member of a section's struct: type and text form follow from the member's type.
// The views must be of literals, `choices` of a constant: a row stores them. A row of type kChoice
// whose member is text is checked by ApplyOption() only.
template <auto Section, auto Member>
constexpr Option Row(std::string_view section, std::string_view key, OptionType type,
                     std::string_view doc, std::span<const std::string_view> choices = {}) {
  return {section,
          key,
          type,
          choices,
          doc,
          [](Config& config, const RawValue& value) {
            return ParseInto(value, config.*Section.*Member);
          },
          [](const Config& config) { return ToToml(config.*Section.*Member); }};
}

// A member of a part of a section, such as [kafka.oauth].
template <auto Section, auto Part, auto Member>
constexpr Option PartRow(std::string_view section, std::string_view key, OptionType type,
                         std::string_view doc) {
  return {section,
          key,
          type,
          {},
          doc,
          [](Config& config, const RawValue& value) {
            return ParseInto(value, config.*Section.*Part.*Member);
          },
          [](const Config& config) { return ToToml(config.*Section.*Part.*Member); }};
}

// A member that is an enumeration.
// REQUIRES: a specialisation of kChoices for the member's type; anything else does not compile.
template <auto Section, auto Member>
constexpr Option ChoiceRow(std::string_view section, std::string_view key, std::string_view doc) {
  using Enum = std::remove_cvref_t<decltype(Config().*Section.*Member)>;
  return Row<Section, Member>(section, key, OptionType::kChoice, doc, kChoiceNames<Enum>);
}

// A size in bytes, written "64MiB" or as a number; 0 is valid only with `zero_is_none`.
// Errors of its setter: WR-1003 for another unit, a negative number, an overflow, or a type that is
// neither text nor an integer. `config show` prints the largest unit that leaves no fraction.
template <auto Section, auto Member, bool zero_is_none = false>
constexpr Option SizeRow(std::string_view section, std::string_view key, std::string_view doc) {
  return {section,
          key,
          OptionType::kSize,
          {},
          doc,
          [](Config& config, const RawValue& value) {
            const auto* text = std::get_if<std::string>(&value);
            const auto* number = std::get_if<int64_t>(&value);
            const auto bytes = text != nullptr     ? ParseSize(*text)
                               : number != nullptr ? std::optional(*number)
                                                   : std::nullopt;
            if (zero_is_none && bytes == 0) {
              config.*Section.*Member = 0;
              return absl::OkStatus();
            }
            if (text != nullptr && (!bytes || *bytes <= 0)) {
              return InvalidValue("expected a size such as \"64MiB\" (B, KiB, MiB, GiB)");
            }
            return ParseInto(text != nullptr ? RawValue(*bytes) : value, config.*Section.*Member);
          },
          [](const Config& config) {
            const int64_t bytes = config.*Section.*Member;
            // Only a value that was not parsed is negative; the message that refuses it shows it.
            return bytes < 0 ? ToToml(bytes) : TomlString(FormatSize(bytes));
          }};
}

// A column of the first table; the loader copies the names to the tables that do not override them.
// No name is stored and means "no column"; whether the column may be absent is checked by
// ValidateConfig().
template <auto Member>
constexpr Option ColumnRow(std::string_view key, std::string_view doc) {
  return {
      "source.columns",
      key,
      OptionType::kNames,
      {},
      doc,
      [](Config& config, const RawValue& value) {
        return ParseInto(value, config.source.tables.front().columns.*Member);
      },
      [](const Config& config) { return ToToml(config.source.tables.front().columns.*Member); }};
}

// The format of a key or a value, or its delegate format.
template <auto Part, auto Member>
constexpr Option FormatRow(std::string_view key, std::string_view doc) {
  using Enum = std::remove_cvref_t<decltype(FormatConfig().*Part.*Member)>;
  return {"format",
          key,
          OptionType::kChoice,
          kChoiceNames<Enum>,
          doc,
          [](Config& config, const RawValue& value) {
            return ParseInto(value, config.format.*Part.*Member);
          },
          [](const Config& config) { return ToToml(config.format.*Part.*Member); }};
}

// Returns the row with a range.
constexpr Option Within(Option option, std::string_view expected,
                        bool (*holds)(const Config& config)) {
  option.range = {expected, holds};
  return option;
}

}  // namespace walrelay
