// Sizes that tests write in numbers.
#pragma once

#include <cstdint>

namespace walrelay::testing {

inline constexpr int64_t kMiB = int64_t{1} << 20;
inline constexpr int64_t kGiB = int64_t{1} << 30;

}  // namespace walrelay::testing
