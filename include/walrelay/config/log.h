// [log]: the level and the format of the log.
// Filled and validated by src/config; docs/configuration.md describes each key.
#pragma once

#include "walrelay/log_level.h"

namespace walrelay {

struct LogConfig {
  LogLevel level = LogLevel::kInfo;
  LogFormat format = LogFormat::kAuto;

  bool operator==(const LogConfig&) const = default;
};

}  // namespace walrelay
