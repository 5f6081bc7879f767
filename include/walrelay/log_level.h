// The level and the form of log lines.
#pragma once

#include <cstdint>

namespace walrelay {

// In ascending order of severity: compared with <.
enum class LogLevel : uint8_t { kDebug, kInfo, kWarning, kError };
enum class LogFormat : uint8_t { kAuto, kText, kJson };  // kAuto: text on a terminal, else JSON

}  // namespace walrelay
