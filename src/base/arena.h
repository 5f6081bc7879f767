// Arena: short-lived bytes, freed all at once.
//
// Memory that Allocate() returned does not move until Clear(). Clear() keeps the blocks for reuse,
// so that in steady state nothing is allocated, except blocks of more than a mebibyte: one huge row
// must not occupy memory permanently.
//
// Not thread-safe. Holds bytes, not objects: nothing is destroyed.
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <vector>

namespace walrelay {

// Movable: pointers stay valid, because the blocks themselves do not move. A moved-from arena must
// not be used any more.
class Arena {
 public:
  // At least `size` bytes, not initialised; a pointer that is not null also for 0.
  // Not aligned: for bytes only. May leave the rest of a block unused. Costs no allocation if a
  // block has room.
  char* Allocate(size_t size) {
    while (current_ < blocks_.size() && blocks_[current_].size - used_ < size) {
      ++current_;
      used_ = 0;
    }
    if (current_ == blocks_.size()) {
      const size_t block = std::max(size, kBlockSize);
      blocks_.push_back({std::make_unique_for_overwrite<char[]>(block), block});
    }
    char* out = blocks_[current_].bytes.get() + used_;
    used_ += size;
    return out;
  }

  // Invalidates everything that was allocated.
  void Clear() {
    std::erase_if(blocks_, [](const Block& block) { return block.size > kLargestKept; });
    current_ = 0;
    used_ = 0;
  }

 private:
  static constexpr size_t kBlockSize = 16 * 1024;
  static constexpr size_t kLargestKept = 1024 * 1024;

  struct Block {
    std::unique_ptr<char[]> bytes;
    size_t size = 0;
  };

  // Filled one after the other; those after current_ are empty.
  std::vector<Block> blocks_;
  size_t current_ = 0;
  size_t used_ = 0;  // of the current block
};

}  // namespace walrelay
