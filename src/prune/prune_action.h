// PruneAction: whether pruning changes the tables.
#pragma once

#include <cstdint>

namespace walrelay {

enum class PruneAction : uint8_t {
  kApply,
  kCount,  // only tells what it would change
};

}  // namespace walrelay
