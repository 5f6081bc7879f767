// Network byte order, on any host.
//
// memcpy() instead of a cast: the bytes of a message have no alignment. Compilers reduce both to
// one instruction.
#pragma once

#include <bit>
#include <concepts>
#include <cstdint>
#include <cstring>
#include <type_traits>

namespace walrelay {

// Its own inverse: also converts from big-endian to the host's order.
template <std::unsigned_integral T>
constexpr T SwapToBigEndian(T value) {
  if constexpr (sizeof(T) == 1 || std::endian::native == std::endian::big) {
    return value;
  } else if constexpr (sizeof(T) == 2) {
    return __builtin_bswap16(value);
  } else if constexpr (sizeof(T) == 4) {
    return __builtin_bswap32(value);
  } else {
    return __builtin_bswap64(value);
  }
}

// `bytes` must hold sizeof(T) readable bytes, of any alignment.
template <std::integral T>
T LoadBigEndian(const char* bytes) {
  std::make_unsigned_t<T> value;
  std::memcpy(&value, bytes, sizeof(value));
  return static_cast<T>(SwapToBigEndian(value));
}

// `bytes` must hold sizeof(T) writable bytes.
template <std::integral T>
void StoreBigEndian(T value, char* bytes) {
  const auto swapped = SwapToBigEndian(static_cast<std::make_unsigned_t<T>>(value));
  std::memcpy(bytes, &swapped, sizeof(swapped));
}

}  // namespace walrelay
