#include "base/system_clock.h"

#include <gtest/gtest.h>

namespace walrelay {
namespace {

TEST(SystemClockTest, MonotonicTimeNeverGoesBack) {
  const SystemClock clock;
  MonoTime before = clock.Now();
  for (int i = 0; i < 10'000; ++i) {
    const MonoTime now = clock.Now();
    ASSERT_GE(now, before);
    before = now;
  }
}

TEST(SystemClockTest, WallTimeIsTheSystemTime) {
  const auto before = std::chrono::floor<Micros>(std::chrono::system_clock::now());
  const WallTime now = SystemClock().WallNow();
  EXPECT_GE(now, before);
  EXPECT_LE(now, std::chrono::system_clock::now());
}

}  // namespace
}  // namespace walrelay
