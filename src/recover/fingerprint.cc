#include "recover/fingerprint.h"

#include "base/check.h"
#include "base/endian.h"
#include "walrelay/error.h"

namespace walrelay {
namespace {

int64_t SizeOf(std::optional<std::string_view> part) {
  return part ? static_cast<int64_t>(part->size()) : -1;
}

}  // namespace

// With the sizes in front, different records never have the same bytes.
absl::StatusOr<Fingerprint> Fingerprinter::Of(std::string_view topic,
                                              std::optional<std::string_view> key,
                                              std::optional<std::string_view> value,
                                              std::optional<std::string_view> id) {
  const std::array<int64_t, 4> sizes{SizeOf(topic), SizeOf(key), SizeOf(value), SizeOf(id)};
  const std::string_view prefix(reinterpret_cast<const char*>(sizes.data()), sizeof(sizes));
  WR_ASSIGN_OR_RETURN(
      const std::string_view digest,
      digest_.Bytes({prefix, topic, key.value_or(""), value.value_or(""), id.value_or("")}));
  WR_CHECK(digest.size() >= sizeof(Fingerprint), "a SHA-256 digest has 32 bytes");
  return Fingerprint{LoadBigEndian<uint64_t>(digest.data()),
                     LoadBigEndian<uint64_t>(digest.data() + sizeof(uint64_t))};
}

}  // namespace walrelay
