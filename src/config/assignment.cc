#include "config/assignment.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "base/text.h"
#include "walrelay/error.h"

namespace walrelay {
namespace {

bool IsChoice(std::string_view choices, std::string_view value) {
  while (!choices.empty()) {
    const size_t comma = std::min(choices.find(", "), choices.size());
    if (choices.substr(0, comma) == value) {
      return true;
    }
    choices.remove_prefix(std::min(comma + 2, choices.size()));
  }
  return false;
}

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

absl::Status ApplyOption(const Option& option, const RawValue& value, Config& config) {
  if (option.type == OptionType::kChoice) {
    const auto* text = std::get_if<std::string>(&value);
    if (text == nullptr || !IsChoice(option.choices, *text)) {
      return Error(ErrorCode::kConfigValue,
                   fmt::format("expected one of {}{}", option.choices,
                               text != nullptr ? ", got \"" + Printable(*text, 80) + "\"" : ""));
    }
  }
  return option.set(config, value);
}

void SetPassThrough(std::string_view name, std::string value, Config& config) {
  for (auto& [known, current] : config.kafka.librdkafka) {
    if (known == name) {
      current = std::move(value);
      return;
    }
  }
  config.kafka.librdkafka.emplace_back(name, std::move(value));
}

absl::Status SetFromText(std::string_view name, std::string_view text, Config& config) {
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
