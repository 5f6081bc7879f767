// Fingerprint: identifies an event by its record: topic, key, value and the header "id".
//
// Not by the id alone: a server that was restored to an earlier point assigns the same ids to other
// events, and an UPDATE changes the event of an id. Headers other than the id are left out, because
// some differ from process to process.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

#include "absl/status/statusor.h"
#include "base/digest.h"
#include "walrelay/config/outbox_table.h"

namespace walrelay {

// 128 bits of a SHA-256 digest: rows are hostile, so a hash for which collisions can be chosen
// would let one event hide another.
using Fingerprint = std::array<uint64_t, 2>;

// Not thread-safe.
class Fingerprinter {
 public:
  Fingerprinter() : digest_(HashAlgorithm::kSha256) {}

  // An absent part differs from an empty one. Errors: WR-3007 if OpenSSL does not provide SHA-256.
  absl::StatusOr<Fingerprint> Of(std::string_view topic, std::optional<std::string_view> key,
                                 std::optional<std::string_view> value,
                                 std::optional<std::string_view> id);

 private:
  Digest digest_;
};

}  // namespace walrelay
