// Backoff: computes the wait before the next attempt.
//
// Doubles from `first` to `most`, each wait drawn from the upper half of the step ("equal jitter"),
// so that instances that failed together do not retry together. Call Reset() after progress, not
// after a mere connection: a flapping link must not cause rapid reconnections. The owner provides
// the seed, so that a simulated run is reproducible.
//
// Not thread-safe.
#pragma once

#include <algorithm>
#include <cstdint>
#include <random>

#include "base/check.h"
#include "walrelay/clock.h"

namespace walrelay {

class Backoff {
 public:
  // REQUIRES: neither is negative, and first * 2^20 fits into 64 bits of microseconds (about 100
  // days).
  Backoff(Micros first, Micros most, uint64_t seed) : first_(first), most_(most), random_(seed) {
    WR_CHECK(first >= Micros(0) && most >= Micros(0) && first <= Micros::max() / (1 << 20),
             "the longest wait fits into 64 bits");
  }

  // The next wait. After 20 doublings the step no longer grows, so that the shift cannot overflow.
  Micros Next() {
    const Micros step = std::min(most_, first_ * (int64_t{1} << std::min(attempts_, 20)));
    ++attempts_;
    return step / 2 +
           Micros(static_cast<int64_t>(random_() % static_cast<uint64_t>(step.count() / 2 + 1)));
  }

  // After progress: the next wait is the first one again.
  void Reset() { attempts_ = 0; }

 private:
  Micros first_;
  Micros most_;
  int attempts_ = 0;
  std::mt19937_64 random_;
};

}  // namespace walrelay
