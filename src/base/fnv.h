// Fnv64: the FNV-1a hash, 64 bits.
//
// For digests that are stored or sent, and compared by another process: absl::Hash differs between
// processes. Not for input that may be chosen to collide.
#pragma once

#include <cstdint>
#include <string_view>

namespace walrelay {

class Fnv64 {
 public:
  // With a terminator, so that two texts differ from their concatenation.
  void Add(std::string_view text) {
    for (const char c : text) {
      AddByte(static_cast<unsigned char>(c));
    }
    AddByte(0);
  }
  uint64_t value() const { return value_; }

 private:
  void AddByte(unsigned char byte) { value_ = (value_ ^ byte) * 0x100000001B3; }

  uint64_t value_ = 0xCBF29CE484222325;
};

}  // namespace walrelay
