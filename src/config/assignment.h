// Sets options of a configuration by name.
//
// All functions are pure: they change only the `config` they are given. Not thread-safe on one
// Config.
#pragma once

#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "config/option.h"

namespace walrelay {

struct Config;

// Sets `option`, checking a choice against its table.
// The one place where a choice is checked, also of options that are text because librdkafka takes
// their names (kafka.compression, kafka.security_protocol).
// REQUIRES: config.source.tables is not empty; options of a table set its first element. Errors:
// WR-1003 with the option's name, the value unless it is a secret, what was expected, and what may
// have been meant; the caller adds the position.
absl::Status ApplyOption(const Option& option, const RawValue& value, Config& config);

// Adds or replaces a property for librdkafka.
// `name`: librdkafka's own name, without kPassThroughPrefix. A replaced property keeps its place in
// the list: librdkafka applies properties in this order. The name and the value are not checked
// here; sinks/kafka/client/conf.h and librdkafka check them.
void SetPassThrough(std::string_view name, std::string value, Config& config);

// Sets "section.key", or "kafka.librdkafka.PROPERTY", from text. Errors: WR-1002 for an unknown
// name, with the nearest known one; WR-1003.
// The file reader does the same with positions in its messages.
// A renamed option is WR-1002 too, with its present name: there are no aliases. `config` may be
// changed in part after an error.
absl::Status SetFromText(std::string_view name, std::string_view text, Config& config);

}  // namespace walrelay
