#include "outbox/partition_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace walrelay {
namespace {

using std::chrono::days;
using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::sys_days;
using std::chrono::year;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr WallTime Day(int y, unsigned m, unsigned d) {
  return sys_days(year(y) / static_cast<int>(m) / static_cast<int>(d));
}

constexpr WallTime kTuesday = Day(2026, 11, 24);

OutboxPartition Partition(WallTime from, WallTime to) {
  return {.schema = "public", .name = "p", .bounds = {.from = from, .to = to}};
}

TEST(PartitionPeriodTest, PeriodsBeginInUtc) {
  const WallTime time = kTuesday + hours(13) + minutes(5);
  EXPECT_EQ(PeriodStart(PartitionPeriod::kHourly, time), kTuesday + hours(13));
  EXPECT_EQ(PeriodStart(PartitionPeriod::kDaily, time), kTuesday);
  EXPECT_EQ(PeriodStart(PartitionPeriod::kWeekly, time), Day(2026, 11, 23));
  EXPECT_EQ(PeriodStart(PartitionPeriod::kMonthly, time), Day(2026, 11, 1));
}

TEST(PartitionPeriodTest, WeekThatBeginsWithItsMondayContainsItsSunday) {
  EXPECT_EQ(PeriodStart(PartitionPeriod::kWeekly, Day(2026, 11, 23)), Day(2026, 11, 23));
  EXPECT_EQ(PeriodStart(PartitionPeriod::kWeekly, Day(2026, 11, 29)), Day(2026, 11, 23));
}

TEST(PartitionPeriodTest, NextPeriodHandlesTheEndOfTheYearAndLeapDays) {
  EXPECT_EQ(NextPeriod(PartitionPeriod::kMonthly, Day(2026, 12, 31)), Day(2027, 1, 1));
  EXPECT_EQ(NextPeriod(PartitionPeriod::kMonthly, Day(2028, 2, 29)), Day(2028, 3, 1));
  EXPECT_EQ(NextPeriod(PartitionPeriod::kDaily, Day(2028, 2, 28)), Day(2028, 2, 29));
  EXPECT_EQ(NextPeriod(PartitionPeriod::kWeekly, Day(2026, 12, 31)), Day(2027, 1, 4));
}

TEST(MissingPartitionsTest, EmptyTableGetsThePresentPeriodAndThoseAhead) {
  EXPECT_THAT(MissingPartitions(PartitionPeriod::kDaily, 2, {}, kTuesday + hours(5)),
              ElementsAre(PartitionBounds{kTuesday, kTuesday + days(1)},
                          PartitionBounds{kTuesday + days(1), kTuesday + days(2)},
                          PartitionBounds{kTuesday + days(2), kTuesday + days(3)}));
}

TEST(MissingPartitionsTest, ExistingPartitionsAreNotCreatedAgain) {
  const std::vector<OutboxPartition> existing = {Partition(kTuesday + days(1), kTuesday + days(2)),
                                                 Partition(kTuesday, kTuesday + days(1))};
  EXPECT_THAT(MissingPartitions(PartitionPeriod::kDaily, 1, existing, kTuesday), IsEmpty());
}

TEST(MissingPartitionsTest, LongerPartitionIsContinuedWhereItEnds) {
  const std::vector<OutboxPartition> month = {
      Partition(Day(2026, 11, 1), Day(2026, 11, 25) + hours(6))};
  EXPECT_THAT(MissingPartitions(PartitionPeriod::kDaily, 1, month, kTuesday),
              ElementsAre(PartitionBounds{Day(2026, 11, 25) + hours(6), Day(2026, 11, 26)}));
}

TEST(MissingPartitionsTest, PartitionThatBeginsWithinAPeriodLimitsTheOneBeforeIt) {
  const std::vector<OutboxPartition> existing = {
      Partition(kTuesday + hours(12), kTuesday + days(9))};
  EXPECT_THAT(MissingPartitions(PartitionPeriod::kDaily, 2, existing, kTuesday),
              ElementsAre(PartitionBounds{kTuesday, kTuesday + hours(12)}));
}

TEST(MissingPartitionsTest, OpenEndedPartitionsCoverEverything) {
  const std::vector<OutboxPartition> existing = {Partition(WallTime::min(), WallTime::max())};
  EXPECT_THAT(MissingPartitions(PartitionPeriod::kHourly, 100, existing, kTuesday), IsEmpty());
}

TEST(MissingPartitionsTest, DefaultPartitionCoversNothing) {
  std::vector<OutboxPartition> existing = {Partition(WallTime::min(), WallTime::max())};
  existing.front().is_default = true;
  EXPECT_EQ(MissingPartitions(PartitionPeriod::kDaily, 3, existing, kTuesday).size(), 4u);
}

TEST(PartitionNameTest, NameHasTheStartOfThePeriod) {
  EXPECT_EQ(PartitionName("outbox", PartitionPeriod::kHourly, kTuesday + hours(7)),
            "outbox_p2026112407");
  EXPECT_EQ(PartitionName("outbox", PartitionPeriod::kDaily, kTuesday), "outbox_p20261124");
  EXPECT_EQ(PartitionName("outbox", PartitionPeriod::kWeekly, Day(2026, 11, 23)),
            "outbox_p20261123");
  EXPECT_EQ(PartitionName("outbox", PartitionPeriod::kMonthly, Day(2026, 11, 1)), "outbox_p202611");
}

TEST(PartitionNameTest, DefaultPartitionIsNamedAfterTheTable) {
  EXPECT_EQ(DefaultPartitionName("outbox"), "outbox_default");
  EXPECT_EQ(DefaultPartitionName(std::string(63, 'x')), std::string(55, 'x') + "_default");
}

TEST(UsualAheadTest, PartitionsCoverAtLeastALongWeekend) {
  for (const auto period : {PartitionPeriod::kHourly, PartitionPeriod::kDaily,
                            PartitionPeriod::kWeekly, PartitionPeriod::kMonthly}) {
    const auto missing = MissingPartitions(period, UsualAhead(period), {}, kTuesday);
    EXPECT_GE(missing.back().to - kTuesday, days(4));
  }
}

// The name of a whole period may exist.
TEST(PartitionNameTest, PartOfAPeriodHasAllDigits) {
  EXPECT_EQ(PartitionName("outbox", PartitionPeriod::kMonthly, kTuesday + hours(6)),
            "outbox_p20261124060000");
}

TEST(PartitionNameTest, LongNamesAreCutAtACharacter) {
  const std::string name = PartitionName(std::string(62, 'x'), PartitionPeriod::kDaily, kTuesday);
  EXPECT_EQ(name, std::string(53, 'x') + "_p20261124");
  // Two bytes per character: the 53rd byte is the first half of one.
  std::string umlauts;
  for (int i = 0; i < 31; ++i) {
    umlauts += "ä";
  }
  EXPECT_EQ(PartitionName(umlauts, PartitionPeriod::kDaily, kTuesday),
            umlauts.substr(0, 52) + "_p20261124");
}

TEST(IsOlderThanTest, EveryRowMustBeOlder) {
  const OutboxPartition day = Partition(kTuesday, kTuesday + days(1));
  EXPECT_FALSE(IsOlderThan(day, days(7), kTuesday + days(8) - Micros(1)));
  EXPECT_TRUE(IsOlderThan(day, days(7), kTuesday + days(8)));
}

TEST(IsOlderThanTest, OpenEndedDefaultAndDividedPartitionsNeverAre) {
  OutboxPartition partition = Partition(kTuesday, WallTime::max());
  EXPECT_FALSE(IsOlderThan(partition, days(7), kTuesday + days(9)));
  partition = Partition(WallTime::min(), kTuesday);
  EXPECT_TRUE(IsOlderThan(partition, days(7), kTuesday + days(9)));
  partition.never_dropped = true;
  EXPECT_FALSE(IsOlderThan(partition, days(7), kTuesday + days(9)));
  partition.never_dropped = false;
  partition.is_default = true;
  EXPECT_FALSE(IsOlderThan(partition, days(7), kTuesday + days(9)));
}

}  // namespace
}  // namespace walrelay
