#include "slot/lsn_age_estimator.h"

#include <gtest/gtest.h>

#include "fakes/allocation_counter.h"

namespace walrelay {
namespace {

using std::chrono::hours;
using std::chrono::seconds;

class LsnAgeEstimatorTest : public ::testing::Test {
 protected:
  static MonoTime At(Micros time) { return MonoTime(time); }
  void AddSample(Micros time, uint64_t wal_end) { clock_.AddSample(At(time), Lsn(wal_end)); }
  std::optional<Micros> Age(Micros now, uint64_t position) const {
    return clock_.Age(At(now), Lsn(position));
  }

  LsnAgeEstimator clock_;
};

TEST_F(LsnAgeEstimatorTest, AgeIsUnknownBeforeTheFirstSample) {
  EXPECT_EQ(Age(seconds(5), 100), std::nullopt);
}

// `walrelay status` without a relay takes one sample: gigabytes of WAL are not "0 seconds old".
TEST_F(LsnAgeEstimatorTest, OneSampleBeyondThePositionDoesNotTellItsAge) {
  AddSample(seconds(1), 100);
  EXPECT_EQ(Age(seconds(1), 5), std::nullopt);
  EXPECT_EQ(Age(seconds(1), 100), Micros(0));
}

TEST_F(LsnAgeEstimatorTest, AgeOfTheEndOfTheWalIsZero) {
  AddSample(seconds(1), 100);
  EXPECT_EQ(Age(seconds(50), 100), Micros(0));
  EXPECT_EQ(Age(seconds(50), 101), Micros(0));
}

TEST_F(LsnAgeEstimatorTest, AgeIsTheTimeSinceTheWalEndedThere) {
  AddSample(seconds(1), 100);
  AddSample(seconds(2), 200);
  AddSample(seconds(3), 300);
  EXPECT_EQ(Age(seconds(10), 200), seconds(8));
  EXPECT_EQ(Age(seconds(10), 250), seconds(8));
}

TEST_F(LsnAgeEstimatorTest, PositionBeforeTheFirstSampleIsAtLeastThatOld) {
  AddSample(seconds(1), 100);
  AddSample(seconds(2), 200);
  EXPECT_EQ(Age(seconds(10), 5), seconds(9));
}

// After an idle night, a commit of the last second is one second old, not one night.
TEST_F(LsnAgeEstimatorTest, IdleTimeOfTheWalIsNotLag) {
  for (int second = 1; second <= 60; ++second) {
    AddSample(seconds(second), 100);
  }
  EXPECT_EQ(Age(seconds(60), 100), Micros(0));
  AddSample(seconds(61), 200);
  EXPECT_EQ(Age(seconds(61), 100), seconds(1));
  EXPECT_EQ(Age(seconds(61), 150), seconds(1));
}

TEST_F(LsnAgeEstimatorTest, PositionBeforeAnIdleWalGrowsOlder) {
  for (int second = 1; second <= 60; ++second) {
    AddSample(seconds(second), 100);
  }
  EXPECT_EQ(Age(seconds(60), 50), seconds(59));
}

TEST_F(LsnAgeEstimatorTest, AnotherServerOrTimelineStartsOver) {
  AddSample(seconds(1), 1000);
  AddSample(seconds(2), 2000);
  AddSample(seconds(3), 500);
  EXPECT_EQ(Age(seconds(10), 500), Micros(0));
  EXPECT_EQ(Age(seconds(10), 400), seconds(7));
}

TEST_F(LsnAgeEstimatorTest, AgesStayAccurateOverAMonth) {
  const Micros end = hours(24 * 30);
  uint64_t position = 0;
  for (Micros now{0}; now <= end; now += seconds(5)) {
    AddSample(now, ++position);
  }
  for (const int64_t age : {5, 60, 600, 3'600, 12 * 3'600, 47 * 3'600, 29 * 24 * 3'600}) {
    const auto then = static_cast<uint64_t>((end - seconds(age)) / seconds(5)) + 1;
    EXPECT_GE(Age(end, then), seconds(age));
    EXPECT_LE(Age(end, then), seconds(age) + seconds(age) / 20 + seconds(5));
  }
}

TEST_F(LsnAgeEstimatorTest, MonthsOfSamplesUseLittleMemory) {
  const size_t before = testing::LiveBytes();
  for (uint64_t sample = 1; sample <= 1'000'000; ++sample) {
    AddSample(seconds(5 * sample), sample);
  }
  EXPECT_LT(testing::LiveBytes() - before, 64u * 1024);
}

}  // namespace
}  // namespace walrelay
