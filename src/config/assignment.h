// Sets options of a configuration by name.
#pragma once

#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "config/option.h"

namespace walrelay {

// Sets `option`, checking a choice against its table.
// The one place where a choice is checked, also of options that are text because librdkafka takes
// their names (kafka.compression, kafka.security_protocol).
absl::Status ApplyOption(const Option& option, const RawValue& value, Config& config);

// Adds or replaces a property for librdkafka.
void SetPassThrough(std::string_view name, std::string value, Config& config);

// Sets "section.key", or "kafka.librdkafka.PROPERTY", from text. Errors: WR-1002 for an unknown
// name, with the nearest known one; WR-1003.
// The file reader does the same with positions in its messages.
absl::Status SetFromText(std::string_view name, std::string_view text, Config& config);

}  // namespace walrelay
