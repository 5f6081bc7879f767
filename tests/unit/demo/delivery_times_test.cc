#include "demo/delivery_times.h"

#include <gtest/gtest.h>

#include "base/check.h"

namespace walrelay {
namespace {

using std::chrono::milliseconds;

WallTime At(int ms) {
  return WallTime(milliseconds(ms));
}

TEST(DeliveryTimesTest, WithoutEventsAllFiguresAreZero) {
  const DeliveryTimes times;
  EXPECT_EQ(times.Undisturbed().events, 0U);
  EXPECT_EQ(times.Undisturbed().max, Micros(0));
  EXPECT_EQ(times.Delayed().events, 0U);
  EXPECT_EQ(times.Outage(), std::nullopt);
}

TEST(DeliveryTimesTest, WithoutAnOutageAllEventsAreUndisturbed) {
  DeliveryTimes times;
  for (int i = 1; i <= 100; ++i) {
    times.Add(At(i), milliseconds(101 - i));
  }
  EXPECT_EQ(times.Undisturbed().events, 100U);
  EXPECT_EQ(times.Undisturbed().median, milliseconds(51));
  EXPECT_EQ(times.Undisturbed().p99, milliseconds(100));
  EXPECT_EQ(times.Undisturbed().max, milliseconds(100));
  EXPECT_EQ(times.Delayed().events, 0U);
}

TEST(DeliveryTimesTest, OutageDelaysWhatWaitedForTheFirstAcknowledgement) {
  DeliveryTimes times;
  times.OutageBegan(At(1000));
  times.Add(At(990), milliseconds(9));  // printed late, acknowledged before
  times.Add(At(995),
            milliseconds(605));  // in flight at the SIGKILL; the first one after it, at 1600
  times.Add(At(1300), milliseconds(301));
  times.Add(At(1599), milliseconds(4));
  times.Add(At(1600), milliseconds(2));  // the relay was publishing again
  EXPECT_EQ(times.Outage(), milliseconds(600));
  EXPECT_EQ(times.Delayed().events, 3U);
  EXPECT_EQ(times.Delayed().max, milliseconds(605));
  EXPECT_EQ(times.Undisturbed().events, 2U);
  EXPECT_EQ(times.Undisturbed().max, milliseconds(9));
}

TEST(DeliveryTimesTest, OutageWithoutALaterAcknowledgementHasNoEnd) {
  DeliveryTimes times;
  times.Add(At(990), milliseconds(5));
  times.OutageBegan(At(1000));
  EXPECT_EQ(times.Outage(), std::nullopt);
  EXPECT_EQ(times.Undisturbed().events, 1U);
}

TEST(DeliveryTimesDeathTest, SecondOutageIsAnError) {
  DeliveryTimes times;
  times.OutageBegan(At(1));
  EXPECT_DEATH(times.OutageBegan(At(2)), "one outage");
}

}  // namespace
}  // namespace walrelay
