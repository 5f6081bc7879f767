// The login of a JAAS configuration (sasl.jaas.config).
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace walrelay {

// The first entry of the configuration; Kafka clients use no other.
struct JaasLogin {
  std::string module;  // "org.apache.kafka.common.security.scram.ScramLoginModule"
  std::map<std::string, std::string> options;
};

// Parses "MODULE required name="value" …;". Errors: WR-1003; the message contains no part of the
// text, which holds a password.
absl::StatusOr<JaasLogin> ParseJaasConfig(std::string_view text);

}  // namespace walrelay
