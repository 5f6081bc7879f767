#include "status/delivery_meter.h"

#include <gtest/gtest.h>

#include "fakes/sole_metrics.h"

namespace walrelay {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::seconds;

const WallTime kCommit{hours(1000)};

class DeliveryMeterTest : public ::testing::Test {
 protected:
  void Deliver(std::string_view topic, Micros after = milliseconds(20)) {
    meter_.OnDelivered({.latency = milliseconds(5), .topic = topic}, kCommit, kCommit + after);
  }

  testing::SoleMetrics metrics_;
  DeliveryMeter meter_{metrics_, /*max_topics=*/2};
};

TEST_F(DeliveryMeterTest, LatencyEndsWithTheAcknowledgementNotWithItsReport) {
  meter_.OnDelivered({.report_delay = milliseconds(10), .topic = "t"}, kCommit,
                     kCommit + milliseconds(50));
  EXPECT_EQ(meter_.acknowledged(), 1u);
  EXPECT_EQ(meter_.last_acknowledged(), kCommit + milliseconds(40));
}

TEST_F(DeliveryMeterTest, TopicsBeyondTheLimitAreCountedTogether) {
  for (const char* topic : {"a", "b", "c", "d", "a", "d"}) {
    Deliver(topic);
  }
  EXPECT_EQ(metrics_.events_published["a"].Value(), 2);
  EXPECT_EQ(metrics_.events_published["b"].Value(), 1);
  EXPECT_EQ(metrics_.events_published["__other__"].Value(), 3);
}

TEST_F(DeliveryMeterTest, PointHasTheEventsOfTenSeconds) {
  const MonoTime start{hours(1)};
  EXPECT_FALSE(meter_.TakePoint(start, kCommit).has_value());
  Deliver("a");
  EXPECT_FALSE(meter_.TakePoint(start + seconds(9), kCommit).has_value());
  const auto point = meter_.TakePoint(start + seconds(11), kCommit + seconds(11));
  ASSERT_TRUE(point.has_value());
  EXPECT_EQ(point->at, kCommit + seconds(11));
  EXPECT_EQ(point->span, seconds(11));
  EXPECT_EQ(point->events, 1u);
  EXPECT_TRUE(point->median.has_value());
  EXPECT_FALSE(point->stages.has_value()) << "two stages have no value";
  meter_.stages().postgres.Add(milliseconds(1));
  meter_.stages().relay.Add(milliseconds(2));
  Deliver("a");
  EXPECT_TRUE(meter_.TakePoint(start + seconds(21), kCommit)->stages.has_value());
  EXPECT_EQ(meter_.TakePoint(start + seconds(31), kCommit)->events, 0u);
}

// The wall clock may be behind the server's.
TEST_F(DeliveryMeterTest, NegativeLatencyCountsAsZero) {
  const MonoTime start{hours(1)};
  meter_.TakePoint(start, kCommit);
  Deliver("a", -seconds(5));
  const auto point = meter_.TakePoint(start + seconds(10), kCommit);
  ASSERT_TRUE(point && point->slowest);
  EXPECT_LE(*point->slowest, Micros(1));
}

}  // namespace
}  // namespace walrelay
