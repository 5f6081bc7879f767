// Loads the configuration from the file of a Debezium connector in place of a walrelay.toml.
//
// Pure: text in, configuration out.
//
// An operator can so replace a connector by walrelay without writing a new configuration; settings
// given as variables or flags override the connector's.
#pragma once

#include "absl/status/statusor.h"
#include "config/loader.h"

namespace walrelay {

// ReadConfig() for either kind of file, which the file's content decides.
// Errors: WR-1001; WR-1007 for a connector that cannot be translated completely.
absl::StatusOr<LoadedConfig> ReadConfigOrConnector(const ConfigInput& input);

// LoadConfig() for either kind of file, which the file's content decides.
// Errors: WR-1001 to WR-1003, WR-1008; WR-1007 for a connector that cannot be translated
// completely.
absl::StatusOr<LoadedConfig> LoadConfigOrConnector(const ConfigInput& input);

}  // namespace walrelay
