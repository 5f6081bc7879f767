// Arena: short-lived bytes, given back all at once.
//
// Memory that Allocate() returned stays where it is until Clear(); afterwards it is used again, so
// that in steady state nothing is allocated. Blocks of more than a mebibyte are not kept: one huge
// row must not cost memory for ever.
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <vector>

namespace walrelay {

class Arena {
 public:
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

  std::vector<Block> blocks_;
  size_t current_ = 0;
  size_t used_ = 0;  // of the current block
};

}  // namespace walrelay
