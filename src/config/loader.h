// Loads the configuration: file, then environment, then flags; the later source overrides.
//
// The file is a walrelay.toml, or, with another reader, the configuration of a Debezium connector
// (debezium/connector_config.h).
//
// Strict: an unknown key is an error that names the nearest known one, with line and column. All
// errors are reported at once; only a file that is not TOML has a single one.
// Does no I/O: the caller passes the file's text and the variables, so that tests, fuzz targets and
// `walrelay check --offline` use the same call.
//
// Environment: WALRELAY_SECTION__KEY, for example WALRELAY_KAFKA__BOOTSTRAP_SERVERS; a dot in a
// section is also written as "__". A variable with "_" in place of "__" is an error too: it was
// meant as configuration. Other variables that start with WALRELAY_ and contain no "__"
// are not configuration: WALRELAY_CONFIG, and what Kubernetes sets for a service "walrelay"
// (WALRELAY_SERVICE_HOST, WALRELAY_PORT_9464_TCP).
#pragma once

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "config/problems.h"
#include "walrelay/config.h"

namespace walrelay {

// The input of ReadConfig() and LoadConfig(). The order within `environment` and `overrides`
// matters only if a name occurs twice: the last one applies.
struct ConfigInput {
  std::string file_name;  // for messages; "" when there is no file
  // The whole file; "" is a valid file without any key.
  std::string file_text;
  // The Connect worker's .properties, if the file is a connector's; "": none.
  std::string worker_text = {};
  std::vector<std::pair<std::string, std::string>> environment;  // all variables, NAME and value
  std::vector<std::pair<std::string, std::string>>
      overrides;  // "section.key" and value, from flags
  ConfigNeeds needs;
};

// Where a value comes from is shown by `walrelay config show`, and is part of error messages.
// Owns all its strings; nothing in it refers to the ConfigInput.
struct LoadedConfig {
  Config config;
  std::string file_name;  // "" when there was no file
  // "section.key" → origin of its value; absent: default. Also "kafka.librdkafka.PROPERTY",
  // "source.placement", and "source.tables[N]" for the N-th table, from 0.
  std::map<std::string, Origin, std::less<>> origins;
  std::string import_summary;  // if the file was a connector's: the result of the import
  ConfigProblems problems;     // options with a problem have an unspecified value

  // Records an error in the value of an option, at the origin of the value. Dropped if the option
  // has a problem already.
  void Reject(const OptionError& error);
};

// Reads `input.file_text` into `out`. `overridden`: the options that variables and flags set
// afterwards, by name.
// A reader may change `out.config`, `out.origins`, `out.import_summary` and `out.problems` only. It
// need not validate ranges: ReadConfig() calls FindInvalidValues() afterwards. Returns an error if
// nothing can be said about the rest of the configuration.
using ConfigFileReader = absl::Status (*)(const ConfigInput& input,
                                          const std::set<std::string>& overridden,
                                          LoadedConfig& out);

// The reader of walrelay.toml. Errors: WR-1001; problems: WR-1002, WR-1003.
// Does not use `overridden`: a key of the file is checked even if a flag overrides it.
absl::Status ReadTomlFile(const ConfigInput& input, const std::set<std::string>& overridden,
                          LoadedConfig& out);

// Errors: those of the reader. Problems: those of the reader; WR-1002, WR-1003.
// Pure; callable from any thread. A later source replaces a value completely: lists are not merged,
// except the properties of librdkafka, each of which is a value of its own. Variables and flags for
// [source.columns] set the columns of the first table only. The message of each problem begins with
// its origin ("file:line:column", "variable NAME", "--set NAME").
absl::StatusOr<LoadedConfig> ReadConfig(const ConfigInput& input,
                                        ConfigFileReader read_file = ReadTomlFile);

// ReadConfig(), with all problems as one error.
absl::StatusOr<LoadedConfig> LoadConfig(const ConfigInput& input,
                                        ConfigFileReader read_file = ReadTomlFile);

// The values that break a constraint on or between values, whatever their origin, in the order of
// the sections. Part of ReadConfig(). Errors: WR-1003.
// Values are consistent if there is none: the rest of the program does not check them again.
// REQUIRES: config.source.tables is not empty, which holds for every Config that the loader built.
// Does not read the catalog, files or brokers: whether a certificate exists is checked by
// CheckOffline(), and whether a column or a topic exists at the connection (`walrelay check`).
std::vector<OptionError> FindInvalidValues(const Config& config, ConfigNeeds needs = {});

// The same as one error.
absl::Status ValidateConfig(const Config& config, ConfigNeeds needs = {});

}  // namespace walrelay
