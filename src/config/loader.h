// Loads the configuration: file, then environment, then flags; the later source overrides.
//
// The file is a walrelay.toml, or, with another reader, the configuration of a Debezium connector
// (debezium/connector_config.h).
//
// Strict: an unknown key is an error that names the nearest known one, with line and column.
// Does no I/O: the caller passes the file's text and the variables, so that tests, fuzz targets and
// `walrelay check --offline` use the same call.
//
// Environment: WALRELAY_SECTION__KEY, for example WALRELAY_KAFKA__BOOTSTRAP_SERVERS; a dot in a
// section is also written as "__". Variables that start with WALRELAY_ and contain no "__" are not
// configuration.
#pragma once

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "walrelay/config.h"

namespace walrelay {

// The servers that a command connects to: only their addresses are required.
// Commands that do not connect to a server need no address of it.
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

// Where a value comes from is shown by `walrelay config show`, and is part of error messages.
struct LoadedConfig {
  Config config;
  std::string file_name;  // "" when there was no file
  std::map<std::string, std::string>
      origins;                 // "section.key" → origin of its value; absent: default
  std::string import_summary;  // if the file was a connector's: the result of the import
};

// Reads `input.file_text` into `out`. `overridden`: the options that variables and flags set
// afterwards, by name.
using ConfigFileReader = absl::Status (*)(const ConfigInput& input,
                                          const std::set<std::string>& overridden,
                                          LoadedConfig& out);

// The reader of walrelay.toml. Errors: WR-1001 to WR-1003.
absl::Status ReadTomlFile(const ConfigInput& input, const std::set<std::string>& overridden,
                          LoadedConfig& out);

// Errors: those of the reader; WR-1002, WR-1003.
absl::StatusOr<LoadedConfig> LoadConfig(const ConfigInput& input,
                                        ConfigFileReader read_file = ReadTomlFile);

// Checks constraints on and between values, whatever their origin. Part of LoadConfig().
// Errors: WR-1003.
// Values are consistent after it: the rest of the program does not check them again.
absl::Status ValidateConfig(const Config& config, ConfigNeeds needs = {});

}  // namespace walrelay
