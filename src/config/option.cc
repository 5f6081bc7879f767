#include "config/option.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <iterator>
#include <vector>

#include "config/section.h"

namespace walrelay {

bool HoldsSecret(const Option& option) {
  return option.type == OptionType::kSecret || option.key == "dsn";
}

std::string Option::Name() const {
  return fmt::format("{}.{}", section, key);
}

// Names of options have ASCII letters only; the process runs in the C locale.
std::string VariableOf(const Option& option) {
  std::string variable = "WALRELAY_";
  for (const char c : option.Name()) {
    variable += c == '.' ? "__" : std::string(1, static_cast<char>(std::toupper(c)));
  }
  return variable;
}

std::span<const Section* const> Sections() {
  static constexpr const Section* kSections[] = {
      &kSourceSection, &kRouteSection,    &kFormatSection, &kOnErrorSection,
      &kKafkaSection,  &kPipelineSection, &kPruneSection,  &kProcessSection};
  return kSections;
}

// One table, in which each option has one place.
std::span<const Option> Options() {
  static const std::vector<Option> kOptions = [] {
    std::vector<Option> all;
    for (const Section* section : Sections()) {
      all.insert(all.end(), section->options.begin(), section->options.end());
    }
    return all;
  }();
  return kOptions;
}

const Option* FindOption(std::string_view section, std::string_view key) {
  const std::span<const Option> options = Options();
  const auto found = std::find_if(options.begin(), options.end(), [&](const Option& option) {
    return option.section == section && option.key == key;
  });
  return found == options.end() ? nullptr : &*found;
}

// Errs on the side of masking: a property that is not secret may be hidden, never the reverse.
bool IsSecretProperty(std::string_view property) {
  // Parts of property names. ".pem" properties hold the key itself, not a path; oauthbearer.config
  // may hold a token.
  constexpr std::string_view kSecrets[] = {"password", "passphrase", "secret", ".pem",
                                           "oauthbearer.config"};
  return std::any_of(std::begin(kSecrets), std::end(kSecrets), [&](std::string_view part) {
    return property.find(part) != std::string_view::npos;
  });
}

const Option* FindOption(std::string_view name) {
  // The last dot, because a section may contain one: "source.columns.id".
  const size_t dot = name.rfind('.');
  return dot == std::string_view::npos ? nullptr
                                       : FindOption(name.substr(0, dot), name.substr(dot + 1));
}

}  // namespace walrelay
