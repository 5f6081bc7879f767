// A clock that advances only when the test calls Advance().
#pragma once

#include "walrelay/clock.h"

namespace walrelay::testing {

class FakeClock final : public Clock {
 public:
  MonoTime Now() const override { return now_; }
  WallTime WallNow() const override { return kStart + (now_ - MonoTime()); }
  void Advance(Micros time) { now_ += time; }

 private:
  static constexpr WallTime kStart = std::chrono::sys_days(std::chrono::year(2026) / 11 / 20);

  MonoTime now_{std::chrono::seconds(1000)};
};

}  // namespace walrelay::testing
