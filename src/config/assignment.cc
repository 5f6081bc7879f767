#include "config/assignment.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <vector>

#include "base/check.h"
#include "base/text.h"
#include "config/former_option.h"
#include "config/suggestion.h"
#include "walrelay/config.h"
#include "walrelay/error.h"

namespace walrelay {
namespace {

// Tables of the file, whose elements are not options.
constexpr std::string_view kTablesOfTheFile[] = {"source.tables", "source.placement"};

// A value as an operator wrote it, without a secret.
std::string Shown(const Option& option, const RawValue& value) {
  if (const auto* list = std::get_if<std::vector<std::string>>(&value)) {
    return fmt::format("a list of {}", list->size());
  }
  if (const auto* number = std::get_if<int64_t>(&value)) {
    return fmt::format("{}", *number);
  }
  if (const bool* flag = std::get_if<bool>(&value)) {
    return *flag ? "true" : "false";
  }
  return HoldsSecret(option) ? "a string"
                             : fmt::format("\"{}\"", Printable(std::get<std::string>(value), 80));
}

// The setter would reject an unknown choice too, but without the list of valid ones. "" is valid
// for an option without a default.
absl::Status CheckChoice(const Option& option, const RawValue& value) {
  const auto* text = std::get_if<std::string>(&value);
  const auto end = option.choices.end();
  const bool unset = text != nullptr && text->empty() && option.show(Config()) == "\"\"";
  return unset || (text != nullptr && std::find(option.choices.begin(), end, *text) != end)
             ? absl::OkStatus()
             : InvalidValue(fmt::format("expected one of {}", fmt::join(option.choices, ", ")));
}

// Every setter says what it expects; what it got, and what may have been meant, is added here.
absl::Status Rejected(const Option& option, const RawValue& value, const absl::Status& error) {
  return error.ok()
             ? error
             : Error(CodeOf(error), fmt::format("{}: {}, got {}{}", option.Name(), MessageOf(error),
                                                Shown(option, value), Correction(option, value)));
}

}  // namespace

absl::Status ApplyOption(const Option& option, const RawValue& value, Config& config) {
  WR_CHECK(!config.source.tables.empty(), "options of a table set the first one");
  if (option.type == OptionType::kChoice) {
    WR_RETURN_IF_ERROR(Rejected(option, value, CheckChoice(option, value)));
  }
  return Rejected(option, value, option.set(config, value));
}

// Kept in the order of the file: librdkafka applies properties one after the other.
void SetPassThrough(std::string_view name, std::string value, Config& config) {
  for (auto& [known, current] : config.kafka.librdkafka) {
    // A property that is set again keeps its place and gets the later value.
    if (known == name) {
      current = std::move(value);
      return;
    }
  }
  config.kafka.librdkafka.emplace_back(name, std::move(value));
}

// An unknown name is an error and never ignored: a misspelt option would otherwise keep its default
// without a word.
absl::Status SetFromText(std::string_view name, std::string_view text, Config& config) {
  // librdkafka checks the name of its own property when the producer's configuration is built.
  if (name.starts_with(kPassThroughPrefix)) {
    SetPassThrough(name.substr(kPassThroughPrefix.size()), std::string(text), config);
    return absl::OkStatus();
  }
  const Option* option = FindOption(name);
  if (const FormerOption* former = FindFormerOption(name, text)) {
    return FormerOptionError(*former);
  }
  if (std::find(std::begin(kTablesOfTheFile), std::end(kTablesOfTheFile), name) !=
      std::end(kTablesOfTheFile)) {
    return Error(ErrorCode::kConfigUnknownKey,
                 fmt::format("[[{}]] can be set in the file only", name));
  }
  if (option == nullptr) {
    const Option* nearest = NearestOption(name);
    return Error(
        ErrorCode::kConfigUnknownKey,
        fmt::format(
            "unknown option \"{}\"{}", Printable(name, 80),
            nearest == nullptr ? "" : fmt::format("; did you mean \"{}\"?", nearest->Name())));
  }
  const auto value = FromText(option->type, text);
  return value.ok() ? ApplyOption(*option, *value, config)
                    : Rejected(*option, std::string(text), value.status());
}

}  // namespace walrelay
