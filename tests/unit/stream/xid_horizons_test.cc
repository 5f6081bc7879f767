#include "stream/xid_horizons.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace walrelay {
namespace {

using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

XidHorizon At(int second) {
  return {.xid = static_cast<uint64_t>(second),
          .insert_lsn = Lsn(static_cast<uint64_t>(second)),
          .taken = WallTime(seconds(second))};
}

TEST(XidHorizonsTest, CountsOncePassed) {
  XidHorizons horizons;
  horizons.Add(At(100));
  horizons.Pass(Lsn(99));
  EXPECT_THAT(horizons.kept(), IsEmpty());
  horizons.Pass(Lsn(100));
  EXPECT_THAT(horizons.kept(), ElementsAre(At(100)));
}

TEST(XidHorizonsTest, IgnoresReadingsInQuickSuccession) {
  XidHorizons horizons;
  horizons.Add(At(100));
  horizons.Add(At(109));
  horizons.Pass(Lsn(200));
  EXPECT_THAT(horizons.kept(), ElementsAre(At(100)));
  horizons.Add(At(109));
  horizons.Pass(Lsn(200));
  EXPECT_THAT(horizons.kept(), ElementsAre(At(100)));
  horizons.Add(At(110));
  horizons.Pass(Lsn(200));
  EXPECT_THAT(horizons.kept(), ElementsAre(At(100), At(110)));
}

// The newest, and ones at least one minute, ten minutes and an hour apart.
TEST(XidHorizonsTest, KeepsFourOfGrowingAge) {
  XidHorizons horizons;
  const int day = 24 * 3600;
  for (int second = 0; second <= day; second += 10) {
    horizons.Add(At(second));
    horizons.Pass(Lsn(static_cast<uint64_t>(day)));
  }
  const auto kept = horizons.kept();
  ASSERT_THAT(kept, SizeIs(4));
  EXPECT_EQ(kept[3], At(day));
  EXPECT_GE(kept[2].taken, kept[3].taken - seconds(70));
  EXPECT_LT(kept[1].taken, kept[2].taken);
  EXPECT_GE(kept[1].taken, kept[2].taken - seconds(660));
  EXPECT_LT(kept[0].taken, kept[1].taken);
  EXPECT_GE(kept[0].taken, kept[1].taken - seconds(4300));
}

TEST(XidHorizonsTest, ARecordIsContinued) {
  XidHorizons horizons;
  const std::vector<XidHorizon> recorded = {At(10), At(70), At(80)};
  horizons.Restore(recorded);
  EXPECT_EQ(horizons.kept(), recorded);
  horizons.Add(At(81));  // a proof of this stream is not awaited for ten seconds
  horizons.Add(At(82));
  horizons.Pass(Lsn(82));
  EXPECT_EQ(horizons.newest(), At(81));
  horizons.ForgetAfter(Lsn(70));
  EXPECT_THAT(horizons.kept(), ElementsAre(At(10), At(70)));
  horizons.Clear();
  EXPECT_THAT(horizons.kept(), IsEmpty());
}

TEST(XidHorizonsTest, FewWaitForAFrontierThatIsFarBehind) {
  XidHorizons horizons;
  for (int second = 0; second < 10'000; second += 10) {
    horizons.Add(At(second));
  }
  horizons.Pass(Lsn(20'000));
  EXPECT_EQ(horizons.kept().back(), At(110));
}

TEST(XidHorizonsTest, AReadingThatGoesBackIsIgnored) {
  XidHorizons horizons;
  horizons.Add({.xid = 900, .insert_lsn = Lsn(100), .taken = WallTime()});
  horizons.Add({.xid = 899, .insert_lsn = Lsn(200), .taken = WallTime(std::chrono::minutes(2))});
  horizons.Add({.xid = 901, .insert_lsn = Lsn(99), .taken = WallTime(std::chrono::minutes(3))});
  horizons.Pass(Lsn(500));
  ASSERT_EQ(horizons.kept().size(), 1u);
  EXPECT_EQ(horizons.kept().front().xid, 900u);
}

}  // namespace
}  // namespace walrelay
