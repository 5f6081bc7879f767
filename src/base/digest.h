// Message digests, computed by OpenSSL.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "walrelay/config.h"

namespace walrelay {

// The digest of the parts, as if they were one text, in lower-case hexadecimal. Thread-safe.
// Errors: WR-3007 if OpenSSL does not provide the algorithm, as MD5 in FIPS mode.
absl::StatusOr<std::string> HexDigest(HashAlgorithm algorithm,
                                      std::initializer_list<std::string_view> parts);

}  // namespace walrelay
