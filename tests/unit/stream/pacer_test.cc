#include "stream/pacer.h"

#include <gtest/gtest.h>

namespace walrelay {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;

class PacerTest : public ::testing::Test {
 protected:
  void ExpectNoWait() const {
    EXPECT_FALSE(pacer_.behind());
    EXPECT_EQ(pacer_.pause(), Micros(0));
    EXPECT_EQ(pacer_.hold(), Micros(0));
  }

  Pacer pacer_{/*by_network=*/true, /*linger=*/milliseconds(5)};
};

TEST_F(PacerTest, NoWaitBeforeTheFirstMessage) {
  ExpectNoWait();
}

TEST_F(PacerTest, LiveStreamHasNoWait) {
  for (const Micros lag : {Micros(0), Micros(1), Micros(milliseconds(10))}) {
    pacer_.OnLag(lag);
    ExpectNoWait();
  }
}

// Commit time and send time come from the same server's clock, but the clock may be set back.
TEST_F(PacerTest, NegativeLagIsNotBehind) {
  pacer_.OnLag(-hours(1));
  ExpectNoWait();
}

TEST_F(PacerTest, WaitsAreSmallFractionsOfTheLag) {
  for (Micros lag = milliseconds(11); lag < hours(1000); lag *= 2) {
    pacer_.OnLag(lag);
    EXPECT_TRUE(pacer_.behind());
    EXPECT_GT(pacer_.pause(), Micros(0));
    EXPECT_LE(pacer_.pause(), lag / 64);
    EXPECT_GT(pacer_.hold(), pacer_.pause());
    EXPECT_LE(pacer_.hold(), lag / 16);
  }
}

TEST_F(PacerTest, WaitsHaveAnUpperLimit) {
  pacer_.OnLag(Micros::max());
  EXPECT_EQ(pacer_.pause(), Micros(400));
  EXPECT_EQ(pacer_.hold(), Micros(4'000));
}

TEST_F(PacerTest, UnixSocketHasAShorterPause) {
  Pacer pacer(/*by_network=*/false, milliseconds(5));
  pacer.OnLag(Micros::max());
  EXPECT_EQ(pacer.pause(), Micros(200));
  EXPECT_EQ(pacer.hold(), Micros(4'000));
}

TEST_F(PacerTest, LagOfTheLastMessageApplies) {
  pacer_.OnLag(hours(1));
  pacer_.OnLag(Micros(5));
  ExpectNoWait();
}

TEST_F(PacerTest, BriefSilenceIsStillBehind) {
  pacer_.OnLag(hours(1));
  pacer_.OnNothingToRead(milliseconds(10));
  EXPECT_TRUE(pacer_.behind());
}

TEST_F(PacerTest, LongerSilenceIsNotBehind) {
  pacer_.OnLag(hours(1));
  pacer_.OnNothingToRead(milliseconds(11));
  ExpectNoWait();
}

// --- waves ---

constexpr MonoTime kNow{hours(1)};

TEST_F(PacerTest, NoWaveBeforeTheFirstRecord) {
  EXPECT_FALSE(pacer_.in_wave(kNow, /*unacknowledged=*/true));
}

TEST_F(PacerTest, WaveEndsWithItsAcknowledgement) {
  pacer_.OnProduced(kNow, 1);
  EXPECT_TRUE(pacer_.in_wave(kNow, /*unacknowledged=*/true));
  EXPECT_FALSE(pacer_.in_wave(kNow, /*unacknowledged=*/false));
}

TEST_F(PacerTest, WaveWithoutAcknowledgementEndsSoon) {
  pacer_.OnProduced(kNow, 1);
  EXPECT_EQ(pacer_.wave_end(), kNow + milliseconds(2));
  EXPECT_TRUE(pacer_.in_wave(pacer_.wave_end() - Micros(1), /*unacknowledged=*/true));
  EXPECT_FALSE(pacer_.in_wave(pacer_.wave_end(), /*unacknowledged=*/true));
}

class PacerLingerTest : public PacerTest {
 protected:
  bool LingersAfter(size_t records, Micros since, Pacer pacer) const {
    pacer.OnProduced(kNow, 1);
    pacer.OnProduced(kNow + since, records);
    EXPECT_TRUE(pacer.linger_end() == kNow + since ||
                pacer.linger_end() == kNow + since + milliseconds(5));
    return pacer.in_wave(kNow + since, /*unacknowledged=*/false);
  }
  bool LingersAfter(size_t records, Micros since) const {
    return LingersAfter(records, since, pacer_);
  }
};

TEST_F(PacerLingerTest, RecordsLingerWhileRowsArriveFast) {
  EXPECT_TRUE(LingersAfter(2, Micros(800)));
  EXPECT_FALSE(LingersAfter(2, Micros(801)));
  EXPECT_TRUE(LingersAfter(25, milliseconds(10)));
  EXPECT_FALSE(LingersAfter(25, Micros(10'001)));
}

TEST_F(PacerLingerTest, ASingleRecordDoesNotLinger) {
  EXPECT_FALSE(LingersAfter(1, Micros(1)));
}

TEST_F(PacerLingerTest, FirstWaveDoesNotLinger) {
  pacer_.OnProduced(kNow, 1'000);
  EXPECT_FALSE(pacer_.in_wave(kNow, /*unacknowledged=*/false));
}

TEST_F(PacerLingerTest, NothingLingersWhileBehind) {
  pacer_.OnLag(milliseconds(11));
  EXPECT_FALSE(LingersAfter(25, Micros(0)));
}

TEST_F(PacerLingerTest, NothingLingersWithoutALinger) {
  EXPECT_FALSE(LingersAfter(25, Micros(0), Pacer(/*by_network=*/true, Micros(0))));
}

TEST_F(PacerLingerTest, LingeringEndsWithoutAnAcknowledgement) {
  pacer_.OnProduced(kNow, 1);
  pacer_.OnProduced(kNow, 2);
  EXPECT_TRUE(pacer_.in_wave(kNow + Micros(4'999), /*unacknowledged=*/true));
  EXPECT_FALSE(pacer_.in_wave(kNow + milliseconds(5), /*unacknowledged=*/true));
}

TEST_F(PacerTest, ReportsMayWaitAfterARecord) {
  EXPECT_LT(pacer_.reports_due(), kNow);
  pacer_.OnProduced(kNow, 1);
  EXPECT_EQ(pacer_.reports_due(), kNow + Pacer::kReportDelay);
}

// Bursts replace waves.
TEST_F(PacerTest, NoWaveWhileBehind) {
  pacer_.OnProduced(kNow, 1);
  pacer_.OnLag(milliseconds(11));
  EXPECT_FALSE(pacer_.in_wave(kNow, /*unacknowledged=*/true));
}

}  // namespace
}  // namespace walrelay
