// Random: the only source of randomness in a history.
//
// SplitMix64 with its own distributions: those of the standard library differ between
// implementations, and a seed must yield the same history everywhere.
#pragma once

#include <cstdint>

#include "walrelay/clock.h"

namespace walrelay::sim {

class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed) {}

  uint64_t Next() {
    uint64_t z = (state_ += 0x9E3779B97F4A7C15);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EB;
    return z ^ (z >> 31);
  }
  // 0 … bound - 1. REQUIRES: bound > 0.
  uint64_t Below(uint64_t bound) { return Next() % bound; }
  // Both ends included.
  int64_t Between(int64_t least, int64_t most) {
    return least + static_cast<int64_t>(Below(static_cast<uint64_t>(most - least) + 1));
  }
  Micros Between(Micros least, Micros most) { return Micros(Between(least.count(), most.count())); }
  bool Chance(int percent) { return Below(100) < static_cast<uint64_t>(percent); }

 private:
  uint64_t state_;
};

}  // namespace walrelay::sim
