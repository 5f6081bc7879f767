// Loads the configuration: file, then environment, then flags; the later wins.
//
// The file is a walrelay.toml, or the configuration of a Debezium connector, which is known by its
// content and translated.
//
// Strict: an unknown key is an error that names the nearest known one, with line and column.
// Nothing is read or looked up here: the file's text and the variables come in, so that the same
// call is a test, a fuzz target and `walrelay check --offline`.
//
// Environment: WALRELAY_SECTION__KEY, for example WALRELAY_KAFKA__BOOTSTRAP_SERVERS; a dot in a
// section is written as "__" too. Variables that start with WALRELAY_ and hold no "__" are not
// configuration.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "walrelay/config.h"

namespace walrelay {

// What a command is going to talk to: it asks for the address of no more than that.
struct ConfigNeeds {
  bool postgres = true;
  bool kafka = true;
};

struct ConfigInput {
  std::string file_name;  // for messages; "" when there is no file
  std::string file_text;
  std::vector<std::pair<std::string, std::string>> environment;  // all variables, NAME and value
  std::vector<std::pair<std::string, std::string>>
      overrides;  // "section.key" and value, from flags
  ConfigNeeds needs;
};

struct LoadedConfig {
  Config config;
  std::string file_name;  // "" when there was no file
  std::map<std::string, std::string>
      origins;                 // "section.key" → where its value came from; else default
  std::string import_summary;  // when the file was a connector's: what became of its properties
};

// Errors: WR-1001 to WR-1003, WR-1007.
absl::StatusOr<LoadedConfig> LoadConfig(const ConfigInput& input);

// What must hold between values, whatever they came from. Part of LoadConfig(). Errors: WR-1003.
absl::Status ValidateConfig(const Config& config, ConfigNeeds needs = {});

}  // namespace walrelay
