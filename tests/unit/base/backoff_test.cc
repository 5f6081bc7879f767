#include "base/backoff.h"

#include <gtest/gtest.h>

namespace walrelay {
namespace {

using std::chrono::milliseconds;

TEST(BackoffTest, DoublesWithJitterUpToItsMaximum) {
  Backoff backoff(milliseconds(100), milliseconds(1000), 7);
  for (const int step : {100, 200, 400, 800, 1000, 1000}) {
    const Micros wait = backoff.Next();
    EXPECT_GE(wait, milliseconds(step) / 2);
    EXPECT_LE(wait, milliseconds(step));
  }
}

TEST(BackoffTest, NeverOverflows) {
  Backoff backoff(milliseconds(100), milliseconds(30'000), 7);
  for (int i = 0; i < 1000; ++i) {
    EXPECT_LE(backoff.Next(), milliseconds(30'000));
  }
}

TEST(BackoffTest, StartsOverAfterProgress) {
  Backoff backoff(milliseconds(100), milliseconds(10'000), 7);
  for (int i = 0; i < 8; ++i) {
    backoff.Next();
  }
  backoff.Reset();
  EXPECT_LE(backoff.Next(), milliseconds(100));
}

TEST(BackoffTest, SameSeedGivesTheSameWaits) {
  Backoff a(milliseconds(100), milliseconds(1000), 42);
  Backoff b(milliseconds(100), milliseconds(1000), 42);
  for (int i = 0; i < 5; ++i) {
    EXPECT_EQ(a.Next(), b.Next());
  }
}

}  // namespace
}  // namespace walrelay
