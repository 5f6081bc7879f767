#include "slot/slot_forecast.h"

#include <gtest/gtest.h>

#include "fakes/sizes.h"

namespace walrelay {
namespace {

using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;

using testing::kGiB;
using testing::kMiB;

class SlotForecastTest : public ::testing::Test {
 protected:
  // Takes a sample every second for `time`, while the positions advance by these rates per second.
  void Pass(Micros time, uint64_t wal, uint64_t confirmed = 0, uint64_t restart = 0) {
    for (const MonoTime end = now_ + time; now_ < end; now_ += seconds(1)) {
      wal_ += wal;
      confirmed_ += confirmed;
      restart_ += restart;
      AddSample();
    }
  }
  void AddSample() { forecast_.AddSample(now_, {Lsn(wal_), Lsn(confirmed_), Lsn(restart_)}); }
  double SecondsToLoss(int64_t reserve) const {
    const auto time = forecast_.TimeToLoss(reserve);
    return time ? std::chrono::duration<double>(*time).count() : -1;
  }

  SlotForecast forecast_;
  MonoTime now_{seconds(5000)};
  uint64_t wal_ = 100 * kMiB;
  uint64_t confirmed_ = 100 * kMiB;
  uint64_t restart_ = 100 * kMiB;
};

TEST_F(SlotForecastTest, NothingIsKnownBeforeTheFirstSamples) {
  EXPECT_EQ(forecast_.WalBytesPerSecond(), std::nullopt);
  EXPECT_EQ(forecast_.TimeToLoss(kGiB), std::nullopt);
  EXPECT_EQ(forecast_.TimeUntilCaughtUp(), std::nullopt);
  AddSample();
  EXPECT_EQ(forecast_.WalBytesPerSecond(), std::nullopt);
}

TEST_F(SlotForecastTest, EmptyReserveIsLostNow) {
  EXPECT_EQ(SecondsToLoss(0), 0);
  EXPECT_EQ(SecondsToLoss(-5), 0);
}

TEST_F(SlotForecastTest, RateIsMeasuredWithinSeconds) {
  Pass(seconds(10), 4 * kMiB);
  EXPECT_NEAR(forecast_.WalBytesPerSecond().value_or(0), 4.0 * kMiB, kMiB / 10.0);
}

TEST_F(SlotForecastTest, StoppedSlotIsLostAtTheRateOfTheWal) {
  Pass(minutes(5), kMiB);
  EXPECT_NEAR(SecondsToLoss(kGiB), 1024, 20);
  EXPECT_NEAR(SecondsToLoss(kGiB / 4), 256, 5);
}

TEST_F(SlotForecastTest, ForecastCountsDown) {
  Pass(minutes(2), kMiB);
  const double before = SecondsToLoss(kGiB);
  Pass(minutes(5), kMiB);
  EXPECT_NEAR(SecondsToLoss(kGiB - static_cast<int64_t>(300 * kMiB)), before - 300, 20);
}

// An average over 15 minutes would react to a burst far too late.
TEST_F(SlotForecastTest, BurstAfterQuietRaisesTheRate) {
  Pass(minutes(14), 0);
  Pass(minutes(1), 10 * kMiB);
  EXPECT_NEAR(SecondsToLoss(kGiB), 102.4, 5);
}

TEST_F(SlotForecastTest, LullAfterABurstDoesNotLowerTheRateAtOnce) {
  Pass(minutes(10), 10 * kMiB);
  Pass(minutes(2), 0);
  EXPECT_NEAR(SecondsToLoss(kGiB), 1024 / 10.0 * 12 / 10, 10);
}

TEST_F(SlotForecastTest, IdleServerLosesNoSlot) {
  Pass(hours(1), 0);
  EXPECT_EQ(SecondsToLoss(kGiB), -1);
}

TEST_F(SlotForecastTest, SlotThatKeepsUpIsNotLost) {
  Pass(minutes(20), 50 * kMiB, 50 * kMiB, 50 * kMiB);
  EXPECT_EQ(SecondsToLoss(kGiB), -1);
}

// restart_lsn advances every 15 seconds: between two steps it only falls behind.
TEST_F(SlotForecastTest, StepsOfASlotThatKeepsUpForecastNoLoss) {
  for (int step = 0; step < 60; ++step) {
    for (int second = 0; second < 15; ++second) {
      Pass(seconds(1), 50 * kMiB, 50 * kMiB);
      EXPECT_EQ(SecondsToLoss(kGiB), -1) << step << ":" << second;
    }
    restart_ = confirmed_;
  }
}

TEST_F(SlotForecastTest, SlotThatFallsBehindSlowlyIsLostEventually) {
  Pass(minutes(10), 10 * kMiB, 5 * kMiB, 5 * kMiB);
  EXPECT_NEAR(SecondsToLoss(kGiB), 1024 / 5.0, 5);
}

TEST_F(SlotForecastTest, OpenTransactionThatRetainsWalIsForecast) {
  Pass(minutes(3), kMiB, kMiB, 0);
  EXPECT_NEAR(SecondsToLoss(kGiB), 1024, 20);
}

TEST_F(SlotForecastTest, NoForecastForTheDistantFuture) {
  Pass(minutes(5), 100);
  EXPECT_EQ(SecondsToLoss(kGiB), -1);
}

TEST_F(SlotForecastTest, CatchUpTimeUsesTheRateOfTheLastMinute) {
  wal_ += 600 * kMiB;
  Pass(minutes(1), kMiB, 6 * kMiB);
  EXPECT_NEAR(std::chrono::duration<double>(*forecast_.TimeUntilCaughtUp()).count(), 300 / 5.0, 2);
}

TEST_F(SlotForecastTest, RateOfTheConfirmedPositionIsMeasured) {
  EXPECT_EQ(forecast_.ConfirmedBytesPerSecond(), std::nullopt);
  Pass(minutes(1), kMiB, 6 * kMiB);
  EXPECT_NEAR(forecast_.ConfirmedBytesPerSecond().value_or(0), 6.0 * kMiB, kMiB / 10.0);
}

TEST_F(SlotForecastTest, NoCatchUpTimeWhileTheLagGrows) {
  Pass(minutes(1), 2 * kMiB, kMiB);
  EXPECT_EQ(forecast_.TimeUntilCaughtUp(), std::nullopt);
}

TEST_F(SlotForecastTest, PositionsOfAnotherServerResetTheForecast) {
  Pass(minutes(10), 50 * kMiB);
  wal_ = confirmed_ = restart_ = kMiB;
  Pass(seconds(30), kMiB);
  EXPECT_NEAR(forecast_.WalBytesPerSecond().value_or(0), 1.0 * kMiB, kMiB / 10.0);
}

}  // namespace
}  // namespace walrelay
