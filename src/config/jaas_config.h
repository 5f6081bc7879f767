// The login that a JAAS configuration describes (sasl.jaas.config).
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace walrelay {

struct JaasLogin {
  std::string module;  // "org.apache.kafka.common.security.scram.ScramLoginModule"
  std::map<std::string, std::string> options;
};

// "MODULE required name="value" …;". Errors: WR-1003, without a word of the text, which holds a
// password.
absl::StatusOr<JaasLogin> ParseJaasConfig(std::string_view text);

}  // namespace walrelay
