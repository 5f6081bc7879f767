#include "config/loader.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "config/assignment.h"
#include "config/file_reader.h"
#include "walrelay/error.h"

namespace walrelay {
namespace {

// Variables without "__" belong to the process' supervisor, or to tests.
constexpr std::string_view kPrefix = "WALRELAY_";

// Names of options have ASCII letters only; the process runs in the C locale.
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

// Sets one option from text. `place` is the text's origin: "variable X", "--set X".
absl::Status SetFrom(const std::string& place, std::string_view name, std::string_view text,
                     LoadedConfig& out) {
  out.origins[std::string(name)] = place;
  return Annotate(SetFromText(name, text, out.config), place);
}

// The settings from variables and flags, by name. Variables come first: flags override them.
// Collected before the file is read: the reader of a connector's file must know what is overridden.
struct Assignment {
  std::string name;
  // A view of the input's own text, which outlives the list.
  std::string_view text;
  std::string place;
};

std::vector<Assignment> Assignments(const ConfigInput& input) {
  std::vector<Assignment> out;
  for (const auto& [variable, value] : input.environment) {
    const std::string_view name = variable;
    // A misspelt option is still an error: SetFromText() rejects the name.
    if (name.starts_with(kPrefix) && name.find("__") != std::string_view::npos) {
      out.push_back(
          {OptionNameOf(name.substr(kPrefix.size())), value, fmt::format("variable {}", variable)});
    }
  }
  for (const auto& [name, value] : input.overrides) {
    out.push_back({name, value, fmt::format("--set {}", name)});
  }
  return out;
}

}  // namespace

// The values of a TOML file are validated even if they are overridden: a misspelt value should not
// wait for the day when the variable is removed.
absl::Status ReadTomlFile(const ConfigInput& input, const std::set<std::string>& /*overridden*/,
                          LoadedConfig& out) {
  return ReadConfigFile(input, out);
}

// Each source overrides the earlier ones as a whole value: lists are replaced, not merged.
absl::StatusOr<LoadedConfig> LoadConfig(const ConfigInput& input, ConfigFileReader read_file) {
  LoadedConfig out;
  out.file_name = input.file_name;
  const std::vector<Assignment> assignments = Assignments(input);
  std::set<std::string> overridden;
  for (const Assignment& assignment : assignments) {
    overridden.insert(assignment.name);
  }
  WR_RETURN_IF_ERROR(read_file(input, overridden, out));
  // Variables and flags set the first table's columns; the other tables keep the file's settings.
  for (const Assignment& assignment : assignments) {
    WR_RETURN_IF_ERROR(SetFrom(assignment.place, assignment.name, assignment.text, out));
  }
  // Once, after all sources: a constraint between two values must hold for the values in effect,
  // wherever each comes from.
  WR_RETURN_IF_ERROR(ValidateConfig(out.config, input.needs));
  return out;
}

}  // namespace walrelay
