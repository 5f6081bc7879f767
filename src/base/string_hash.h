// A transparent hash, so that a lookup by std::string_view in a map keyed by std::string allocates
// nothing.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "absl/container/flat_hash_map.h"
#include "absl/hash/hash.h"

namespace walrelay {

// Lookups by view and by string must agree: both hash as a view.
struct StringHash {
  using is_transparent = void;
  size_t operator()(std::string_view text) const { return absl::HashOf(text); }
};

template <typename Value>
using StringMap = absl::flat_hash_map<std::string, Value, StringHash, std::equal_to<>>;

}  // namespace walrelay
