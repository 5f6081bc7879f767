#include "config/loader.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "config/assignment.h"
#include "config/file_reader.h"
#include "config/former_option.h"
#include "config/suggestion.h"
#include "walrelay/error.h"

namespace walrelay {
namespace {

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

// The settings from variables and flags, by name. Variables come first: flags override them.
// Collected before the file is read: the reader of a connector's file must know what is overridden.
struct Assignment {
  std::string name;
  // A view of the input's own text, which outlives the list.
  std::string_view text;
  std::string place;
};

// The option that a variable without "__" was meant for; nullptr if it is not configuration.
// Only the whole name with its section counts, without tolerance: a supervisor sets names that are
// close to those of options (WALRELAY_SOURCE_PORT, for a service "walrelay-source" of Kubernetes).
const Option* MeantBy(std::string_view variable) {
  const auto single = [](std::string name) {
    std::replace(name.begin(), name.end(), '.', '_');
    return name;
  };
  const std::string name = Lower(variable.substr(kPrefix.size()));
  const auto options = Options();
  const auto found = std::find_if(options.begin(), options.end(), [&](const Option& option) {
    return single(option.Name()) == name;
  });
  if (found != options.end()) {
    return &*found;
  }
  const auto former = FormerOptions();
  const auto old = std::find_if(former.begin(), former.end(), [&](const FormerOption& each) {
    return single(std::string(each.name)) == name;
  });
  return old == former.end() ? nullptr : FindOption(old->option);
}

// A misspelt option with "__" is still an error: SetFromText() rejects the name.
std::vector<Assignment> Assignments(const ConfigInput& input, LoadedConfig& out) {
  std::vector<Assignment> assignments;
  for (const auto& [variable, value] : input.environment) {
    const std::string_view name = variable;
    if (!name.starts_with(kPrefix)) {
      continue;
    }
    const std::string place = fmt::format("variable {}", variable);
    if (name.find("__") != std::string_view::npos) {
      assignments.push_back({OptionNameOf(name.substr(kPrefix.size())), value, place});
    } else if (const Option* meant = MeantBy(name)) {
      out.problems.Add({place}, meant->Name(),
                       Error(ErrorCode::kConfigUnknownKey,
                             fmt::format("two underscores separate a section from its key; did you "
                                         "mean {}?",
                                         VariableOf(*meant))));
    }
  }
  for (const auto& [name, value] : input.overrides) {
    assignments.push_back({name, value, fmt::format("--set {}", name)});
  }
  return assignments;
}

}  // namespace

void LoadedConfig::Reject(const OptionError& error) {
  if (problems.Concern(error.option)) {
    return;
  }
  const auto origin = origins.find(error.required_by.empty() ? error.option : error.required_by);
  // A value without an origin is missing from the file, if there is one.
  problems.Add(origin == origins.end() ? Origin{file_name} : origin->second, error.option,
               error.error);
}

// The values of a TOML file are validated even if they are overridden: a misspelt value should not
// wait for the day when the variable is removed.
absl::Status ReadTomlFile(const ConfigInput& input, const std::set<std::string>& /*overridden*/,
                          LoadedConfig& out) {
  return ReadConfigFile(input, out);
}

// Each source overrides the earlier ones as a whole value: lists are replaced, not merged.
absl::StatusOr<LoadedConfig> ReadConfig(const ConfigInput& input, ConfigFileReader read_file) {
  LoadedConfig out;
  out.file_name = input.file_name;
  const std::vector<Assignment> assignments = Assignments(input, out);
  std::set<std::string> overridden;
  for (const Assignment& assignment : assignments) {
    overridden.insert(assignment.name);
  }
  WR_RETURN_IF_ERROR(read_file(input, overridden, out));
  // Variables and flags set the first table's columns; the other tables keep the file's settings.
  for (const Assignment& assignment : assignments) {
    out.origins[assignment.name] = {assignment.place};
    if (const absl::Status status = SetFromText(assignment.name, assignment.text, out.config);
        !status.ok()) {
      const Option* meant = NearestOption(assignment.name);
      out.problems.Add({assignment.place}, meant != nullptr ? meant->Name() : assignment.name,
                       status);
    }
  }
  // Once, after all sources: a constraint between two values must hold for the values in effect,
  // wherever each comes from.
  for (const OptionError& error : FindInvalidValues(out.config, input.needs)) {
    out.Reject(error);
  }
  return out;
}

absl::StatusOr<LoadedConfig> LoadConfig(const ConfigInput& input, ConfigFileReader read_file) {
  WR_ASSIGN_OR_RETURN(LoadedConfig loaded, ReadConfig(input, read_file));
  WR_RETURN_IF_ERROR(loaded.problems.ToStatus());
  return loaded;
}

}  // namespace walrelay
