// The pause between two transactions.

#include "sinks/kafka/producer/commit_pause.h"

#include <gtest/gtest.h>

namespace walrelay {
namespace {

using std::chrono::milliseconds;

// Brokers that take `markers` to write the markers. Returns how many of the last thousand
// registrations were repeated.
int Simulate(CommitPause& pause, Micros markers) {
  int repeated = 0;
  for (int i = 0; i < 2'000; ++i) {
    const Micros delay = pause.value() + milliseconds(1);
    pause.OnRegistered(delay, delay < markers);
    repeated += i >= 1'000 && delay < markers ? 1 : 0;
  }
  return repeated;
}

TEST(CommitPauseTest, FewRegistrationsAreRepeated) {
  CommitPause pause;
  const int repeated = Simulate(pause, milliseconds(9));
  EXPECT_GT(repeated, 5);
  EXPECT_LT(repeated, 20);
  EXPECT_GT(pause.value(), milliseconds(7));
  EXPECT_LT(pause.value(), milliseconds(10));
}

TEST(CommitPauseTest, FastBrokersNeedNone) {
  CommitPause pause;
  EXPECT_EQ(Simulate(pause, Micros(500)), 0);
  EXPECT_EQ(pause.value(), Micros(0));
}

TEST(CommitPauseTest, SlowBrokersReachTheLimit) {
  CommitPause pause;
  Simulate(pause, milliseconds(100));
  EXPECT_EQ(pause.value(), CommitPause::kMax);
}

TEST(CommitPauseTest, ALateRecordSaysNothing) {
  CommitPause pause;
  const Micros before = pause.value();
  pause.OnRegistered(milliseconds(500), false);
  EXPECT_EQ(pause.value(), before);
}

}  // namespace
}  // namespace walrelay
