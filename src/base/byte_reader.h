// ByteReader: the only parser of bytes from the network.
//
// Every read is bounds-checked and returns whether it succeeded; a failed read consumes nothing and
// does not change its output. Strings are views into the input and share its lifetime.
//
// (Pointer arithmetic at each call site would need the same checks, and one of them would be
// missing.)
#pragma once

#include <concepts>
#include <cstddef>
#include <string_view>

#include "base/endian.h"

namespace walrelay {

// A view and a position: cheap to copy, and a copy reads independently. Not thread-safe.
class ByteReader {
 public:
  explicit ByteReader(std::string_view input) : rest_(input) {}

  size_t remaining() const { return rest_.size(); }
  bool at_end() const { return rest_.empty(); }

  // A big-endian integer.
  template <std::integral T>
  [[nodiscard]] bool Read(T& out) {
    if (rest_.size() < sizeof(T)) {
      return false;
    }
    out = LoadBigEndian<T>(rest_.data());
    rest_.remove_prefix(sizeof(T));
    return true;
  }

  // Exactly `count` bytes.
  // 0 succeeds, with an empty view.
  [[nodiscard]] bool ReadBytes(size_t count, std::string_view& out) {
    if (rest_.size() < count) {
      return false;
    }
    out = rest_.substr(0, count);
    rest_.remove_prefix(count);
    return true;
  }

  // A string that ends with a zero byte; the zero is consumed and not part of `out`.
  [[nodiscard]] bool ReadCString(std::string_view& out) {
    const size_t end = rest_.find('\0');
    if (end == std::string_view::npos) {
      return false;
    }
    out = rest_.substr(0, end);
    rest_.remove_prefix(end + 1);
    return true;
  }

 private:
  std::string_view rest_;
};

}  // namespace walrelay
