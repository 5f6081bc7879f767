#include "config/assignment.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <vector>

#include "base/check.h"
#include "base/text.h"
#include "walrelay/error.h"

namespace walrelay {
namespace {

// `"; did you mean …?"` for a name that is close to a known option, else "".
std::string Suggestion(std::string_view name) {
  std::vector<std::string> names;
  for (const Option& option : Options()) {
    names.push_back(option.Name());
  }
  const std::vector<std::string_view> views(names.begin(), names.end());
  const std::string_view nearest = NearestName(name, views);
  return nearest.empty() ? "" : fmt::format("; did you mean \"{}\"?", nearest);
}

}  // namespace

// The setter would reject an unknown choice too, but without the list of valid ones.
absl::Status ApplyOption(const Option& option, const RawValue& value, Config& config) {
  WR_CHECK(!config.source.tables.empty(), "options of a table set the first one");
  if (option.type == OptionType::kChoice) {
    const auto* text = std::get_if<std::string>(&value);
    if (text == nullptr ||
        std::find(option.choices.begin(), option.choices.end(), *text) == option.choices.end()) {
      return Error(ErrorCode::kConfigValue,
                   fmt::format("expected one of {}{}", fmt::join(option.choices, ", "),
                               text != nullptr ? ", got \"" + Printable(*text, 80) + "\"" : ""));
    }
  }
  return option.set(config, value);
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
  if (const std::string_view renamed = RenamedTo(name); !renamed.empty()) {
    return Error(ErrorCode::kConfigUnknownKey,
                 fmt::format("option \"{}\" was renamed to \"{}\"", name, renamed));
  }
  if (option == nullptr) {
    return Error(ErrorCode::kConfigUnknownKey,
                 fmt::format("unknown option \"{}\"{}", name, Suggestion(name)));
  }
  const auto value = FromText(option->type, text);
  return Annotate(value.ok() ? ApplyOption(*option, *value, config) : value.status(),
                  option->Name());
}

}  // namespace walrelay
