// Calls of AWS's services, and what their answers have in common.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "auth/aws_credentials.h"
#include "base/http_call.h"

namespace walrelay {

// The value of an environment variable; "" if it is not set.
std::string AwsVariable(const char* name);

// "2026-01-02T03:04:05Z"; a fraction of the second is ignored. nullopt: another form.
std::optional<WallTime> ParseAwsTime(const std::string& text);

// <NAME>text</NAME> of a short XML document; "" if it is absent. The answers of AWS have no
// attributes there, and no characters that XML escapes.
std::string_view XmlElement(std::string_view document, std::string_view name);

// WR-4012: "`provider`: `why`".
absl::Status AwsError(std::string_view provider, std::string_view why);

// CallHttp() with its errors, and every status but 200, as WR-4012. Calls of metadata services use
// no proxy.
absl::StatusOr<Secret> CallAws(std::string_view provider, HttpCall call,
                               const AwsCallOptions& options);

}  // namespace walrelay
