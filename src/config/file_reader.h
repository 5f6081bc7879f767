// Reads walrelay.toml into a Config. Part of the loader.
#pragma once

#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "config/loader.h"
#include "config/option.h"

namespace walrelay {

// Errors carry "file:line:column". Without a file does nothing.
absl::Status ReadConfigFile(const ConfigInput& input, LoadedConfig& out);

// Sets `option`, checking a choice against its table.
absl::Status ApplyOption(const Option& option, const RawValue& value, Config& config);

// Adds or replaces a property for librdkafka.
void SetPassThrough(std::string_view name, std::string value, Config& config);

}  // namespace walrelay
