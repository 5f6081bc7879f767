#include "publish/single_step.h"

#include <gtest/gtest.h>

#include "fakes/status_matchers.h"
#include "walrelay/error.h"

namespace walrelay {
namespace {

constexpr Position kRefused{Lsn(100), Lsn(10), 3};
constexpr Position kLast{Lsn(300), Lsn(10), 2};

TEST(SingleStepTest, CoversFromTheRefusedRecordToTheLastOfferedOne) {
  SingleStep step;
  EXPECT_FALSE(step.Covers(kRefused));
  step.Cover(kRefused, kLast);
  EXPECT_FALSE(step.Covers({Lsn(100), Lsn(10), 2}));
  EXPECT_TRUE(step.Covers(kRefused));
  EXPECT_TRUE(step.Covers({Lsn(200), Lsn(10), 1}));
  EXPECT_TRUE(step.Covers(kLast));
  EXPECT_FALSE(step.Covers({Lsn(300), Lsn(10), 3}));
  EXPECT_FALSE(step.Covers({Lsn(300), Lsn(11), 1}));
  EXPECT_FALSE(step.Covers({Lsn(100), Lsn(9), 9}));
}

TEST(SingleStepTest, SecondRangeWidensTheFirst) {
  SingleStep step;
  step.Cover({Lsn(200), Lsn(10), 1}, {Lsn(200), Lsn(10), 9});
  step.Cover({Lsn(100), Lsn(10), 1}, {Lsn(150), Lsn(10), 1});
  EXPECT_TRUE(step.Covers({Lsn(100), Lsn(10), 1}));
  EXPECT_TRUE(step.Covers({Lsn(200), Lsn(10), 9}));
}

TEST(SingleStepTest, RangeEndsWhenItsLastTransactionIsAcknowledged) {
  SingleStep step;
  step.Cover(kRefused, kLast);
  step.OnFrontier(Lsn(300));  // the start of its commit record
  EXPECT_TRUE(step.Covers(kLast));
  step.OnFrontier(Lsn(348));
  EXPECT_FALSE(step.Covers(kLast));
}

// Only a faulty server moves the frontier past a record in flight: by a keepalive with a position
// beyond a transaction that it sends later.
TEST(SingleStepTest, RangeIsKeptWhileItsRecordIsInFlight) {
  SingleStep step;
  step.Cover(kRefused, kLast);
  step.OnOffered({7, 3});
  step.OnFrontier(Lsn(348));
  EXPECT_TRUE(step.Covers(kLast));
}

TEST(SingleStepTest, OnlyTheRecordInFlightDecidesTheAttempt) {
  SingleStep step;
  step.OnOffered({7, 3});
  EXPECT_FALSE(step.OnDelivered({7, 2}));
  EXPECT_FALSE(step.OnRefused({6, 3}, Error(ErrorCode::kDeliveryRefused, "other")));
  EXPECT_EQ(step.attempt(), SingleStep::Attempt::kInFlight);
  EXPECT_TRUE(step.OnDelivered({7, 3}));
  EXPECT_EQ(step.attempt(), SingleStep::Attempt::kDelivered);
  EXPECT_FALSE(step.OnDelivered({7, 3}));
}

TEST(SingleStepTest, RefusalIsReturnedOnce) {
  SingleStep step;
  step.OnOffered({7, 3});
  EXPECT_TRUE(step.OnRefused({7, 3}, Error(ErrorCode::kDeliveryRefused, "policy")));
  EXPECT_THAT(step.TakeError(), HasError(ErrorCode::kDeliveryRefused, "policy"));
  EXPECT_EQ(step.attempt(), SingleStep::Attempt::kNone);
}

TEST(SingleStepTest, AnotherTimelineEndsTheRange) {
  SingleStep step;
  step.Cover(kRefused, kLast);
  step.OnOffered({7, 3});
  step.Clear();
  EXPECT_FALSE(step.Covers(kRefused));
  EXPECT_EQ(step.attempt(), SingleStep::Attempt::kNone);
}

using SingleStepDeathTest = ::testing::Test;

TEST(SingleStepDeathTest, PreconditionsAreChecked) {
  SingleStep step;
  EXPECT_DEATH(step.Cover(kLast, kRefused), "in stream order");
  EXPECT_DEATH((void)step.TakeError(), "was refused");
  step.OnOffered({7, 3});
  EXPECT_DEATH(step.OnOffered({7, 4}), "one record is in flight");
}

}  // namespace
}  // namespace walrelay
