#include "config/loader.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "base/text.h"
#include "config/file_reader.h"
#include "config/option.h"
#include "walrelay/error.h"

namespace walrelay {
namespace {

constexpr std::string_view kPrefix = "WALRELAY_";

std::string Lower(std::string_view text) {
  std::string out(text);
  std::transform(out.begin(), out.end(), out.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return out;
}

// "SOURCE__COLUMNS__ID" → "source.columns.id". A single underscore belongs to the name.
std::string OptionNameOf(std::string_view variable) {
  std::string name;
  while (!variable.empty()) {
    const size_t separator = std::min(variable.find("__"), variable.size());
    name += (name.empty() ? "" : ".") + Lower(variable.substr(0, separator));
    variable.remove_prefix(std::min(separator + 2, variable.size()));
  }
  return name;
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

// Sets one option from text. `place` says where the text stands: "variable X", "--set X".
absl::Status SetFromText(std::string_view name, std::string_view text, const std::string& place,
                         LoadedConfig& out) {
  constexpr std::string_view kPassThrough = "kafka.librdkafka.";
  if (name.starts_with(kPassThrough)) {
    SetPassThrough(name.substr(kPassThrough.size()), std::string(text), out.config);
    return absl::OkStatus();
  }
  const size_t dot = name.rfind('.');
  const Option* option = dot == std::string_view::npos
                             ? nullptr
                             : FindOption(name.substr(0, dot), name.substr(dot + 1));
  if (option == nullptr) {
    return Error(ErrorCode::kConfigUnknownKey,
                 fmt::format("{}: there is no option \"{}\"{}", place, name, Suggestion(name)));
  }
  const auto value = FromText(option->type, text);
  const absl::Status status =
      value.ok() ? ApplyOption(*option, *value, out.config) : value.status();
  out.origins[option->Name()] = place;
  return Annotate(status, fmt::format("{}: {}", place, option->Name()));
}

absl::Status ReadEnvironment(const ConfigInput& input, LoadedConfig& out) {
  for (const auto& [variable, value] : input.environment) {
    const std::string_view name = variable;
    if (name.starts_with(kPrefix) && name.find("__") != std::string_view::npos) {
      WR_RETURN_IF_ERROR(SetFromText(OptionNameOf(name.substr(kPrefix.size())), value,
                                     fmt::format("variable {}", variable), out));
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<LoadedConfig> LoadConfig(const ConfigInput& input) {
  LoadedConfig out;
  WR_RETURN_IF_ERROR(ReadConfigFile(input, out));
  // Variables and flags name the first table's columns; what the file said of several tables stays.
  WR_RETURN_IF_ERROR(ReadEnvironment(input, out));
  for (const auto& [name, value] : input.overrides) {
    WR_RETURN_IF_ERROR(SetFromText(name, value, fmt::format("--set {}", name), out));
  }
  WR_RETURN_IF_ERROR(ValidateConfig(out.config, input.needs));
  return out;
}

}  // namespace walrelay
