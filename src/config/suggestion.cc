#include "config/suggestion.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "base/text.h"
#include "config/former_option.h"
#include "config/value_text.h"

namespace walrelay {
namespace {

// A value that operators know from another tool, and what it is here. `key`: of any section.
struct ForeignValue {
  std::string_view section;
  std::string_view value;
  std::string_view advice;
};
constexpr ForeignValue kForeignValues[] = {
    {"format", "avro",
     "; walrelay has no schema registry, see docs/guides/from-debezium.md (bytes that are Avro "
     "already: \"bytes\")"},
    {"format", "protobuf",
     "; walrelay has no schema registry, see docs/guides/from-debezium.md (bytes that are Protobuf "
     "already: \"bytes\")"},
    {"on_error", "dlq", "; did you mean \"dead_letter\"?"},
    {"on_error", "fail", "; did you mean \"stop\"?"},
    {"on_error", "ignore", "; did you mean \"skip\"?"},
};

std::string Meaning(std::string_view text) {
  return text.empty() ? "" : fmt::format("; did you mean \"{}\"?", text);
}

std::string_view NearestBoolean(std::string_view text) {
  constexpr std::pair<std::string_view, std::string_view> kWords[] = {
      {"yes", "true"}, {"on", "true"},   {"1", "true"},  {"True", "true"},   {"TRUE", "true"},
      {"no", "false"}, {"off", "false"}, {"0", "false"}, {"False", "false"}, {"FALSE", "false"}};
  const auto* word = std::find_if(std::begin(kWords), std::end(kWords),
                                  [&](const auto& known) { return known.first == text; });
  return word == std::end(kWords) ? "" : word->second;
}

std::string ChoiceCorrection(const Option& option, std::string_view text) {
  const auto* foreign = std::find_if(
      std::begin(kForeignValues), std::end(kForeignValues), [&](const ForeignValue& known) {
        return known.section == option.section && known.value == text;
      });
  return foreign != std::end(kForeignValues) ? std::string(foreign->advice)
                                             : DidYouMean(text, option.choices);
}

}  // namespace

std::string DidYouMean(std::string_view name, std::span<const std::string_view> candidates) {
  return Meaning(NearestName(name, candidates));
}

// A key that exists in another section is nearer than any other spelling: it was put into the wrong
// section, or its section was left out.
const Option* NearestOption(std::string_view name) {
  if (const FormerOption* former = FindFormerOption(name, "")) {
    return FindOption(former->option);
  }
  const std::string_view key = name.substr(name.rfind('.') + 1);
  std::vector<std::string> names;
  std::vector<std::string_view> keys;
  const Option* same_key = nullptr;
  for (const Option& option : Options()) {
    names.push_back(option.Name());
    keys.push_back(option.key);
    // The columns' names ("id", "payload") are too common to be meant elsewhere.
    if (option.key == key && option.section != "source.columns" && same_key == nullptr) {
      same_key = &option;
    }
  }
  const std::vector<std::string_view> views(names.begin(), names.end());
  if (const std::string_view nearest = NearestName(name, views); !nearest.empty()) {
    return FindOption(nearest);
  }
  if (same_key != nullptr) {
    return same_key;
  }
  const auto near_key = std::find(keys.begin(), keys.end(), NearestName(key, keys));
  return key == name && near_key != keys.end() ? &Options()[size_t(near_key - keys.begin())]
                                               : nullptr;
}

std::string Correction(const Option& option, const RawValue& value) {
  const auto* text = std::get_if<std::string>(&value);
  const auto* number = std::get_if<int64_t>(&value);
  switch (option.type) {
    case OptionType::kChoice:
      return text != nullptr ? ChoiceCorrection(option, *text) : "";
    case OptionType::kBoolean:
      return Meaning(text != nullptr ? NearestBoolean(*text) : "");
    case OptionType::kDuration:
      return number != nullptr ? Meaning(fmt::format("{}s", *number))
                               : Meaning(text != nullptr ? NearestDuration(*text) : "");
    case OptionType::kSize:
      return Meaning(text != nullptr ? NearestSize(*text) : "");
    default:
      return "";
  }
}

}  // namespace walrelay
