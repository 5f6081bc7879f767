// Digest: computes message digests of one algorithm, with OpenSSL.
#pragma once

#include <initializer_list>
#include <memory>
#include <string_view>

#include "absl/status/statusor.h"
#include "walrelay/config/outbox_table.h"

namespace walrelay {

// Allocates memory for its first digest only. Not thread-safe.
class Digest {
 public:
  explicit Digest(HashAlgorithm algorithm);
  ~Digest();

  // The digest of the parts, as if they were one text: its bytes, or in lower-case hexadecimal.
  // Valid until the next call. Errors: WR-3007 if OpenSSL does not provide the algorithm, as MD5 in
  // FIPS mode.
  absl::StatusOr<std::string_view> Bytes(std::initializer_list<std::string_view> parts);
  absl::StatusOr<std::string_view> Hex(std::initializer_list<std::string_view> parts);

 private:
  struct Context;  // keeps OpenSSL's headers out of this one
  std::unique_ptr<Context> context_;
};

}  // namespace walrelay
