// SimClock: a clock that the simulation advances.
#pragma once

#include <algorithm>

#include "walrelay/clock.h"

namespace walrelay::sim {

class SimClock final : public Clock {
 public:
  MonoTime Now() const override { return now_; }
  WallTime WallNow() const override { return kStart + (now_ - kBegin); }
  void MoveTo(MonoTime time) { now_ = std::max(now_, time); }
  Micros Elapsed() const { return now_ - kBegin; }

  static constexpr MonoTime kBegin{std::chrono::seconds(1000)};

 private:
  static constexpr WallTime kStart = std::chrono::sys_days(std::chrono::year(2026) / 11 / 20);

  MonoTime now_ = kBegin;
};

}  // namespace walrelay::sim
