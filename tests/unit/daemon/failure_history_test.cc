#include "daemon/failure_history.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace walrelay {
namespace {

using std::chrono::hours;
using std::chrono::minutes;
using ::testing::IsEmpty;

const PipelineIdentity kOrders{.source = "orders", .slot = "s"};
const PipelineIdentity kPayments{.source = "payments", .slot = "s"};

class FailureHistoryTest : public ::testing::Test {
 protected:
  bool Fail(std::optional<PipelineIdentity> pipeline, std::string what = "w") {
    return history_.OnFailed({.pipeline = std::move(pipeline), .what = std::move(what)}, now_);
  }
  // Nine hours ago.
  void Isolate(const PipelineIdentity& pipeline) {
    Fail(pipeline);
    Fail(pipeline);
    now_ += hours(9);
  }
  PipelineFailure Of(const PipelineIdentity& pipeline) const {
    for (const PipelineFailure& each : history_.pipelines()) {
      if (each.pipeline == pipeline) {
        return each;
      }
    }
    return {};
  }

  MonoTime now_{hours(5)};
  FailureHistory history_;
};

TEST_F(FailureHistoryTest, FirstFailureIsFollowedByARestart) {
  EXPECT_FALSE(history_.any());
  EXPECT_TRUE(Fail(kOrders, "why"));
  EXPECT_TRUE(history_.any());
  EXPECT_EQ(Of(kOrders).what, "why");
  EXPECT_EQ(Of(kOrders).times, 1u);
  EXPECT_TRUE(Of(kOrders).is_latest);
  EXPECT_FALSE(Of(kOrders).isolated);
  EXPECT_THAT(history_.unknown(), IsEmpty());
}

TEST_F(FailureHistoryTest, SecondFailureWithinAnHourIsolates) {
  Fail(kOrders);
  now_ += minutes(59);
  EXPECT_TRUE(Fail(kOrders));
  EXPECT_TRUE(Of(kOrders).isolated);
  EXPECT_EQ(Of(kOrders).times, 2u);
}

TEST_F(FailureHistoryTest, LaterFailureIsFollowedByARestart) {
  Fail(kOrders);
  now_ += hours(1);
  Fail(kOrders);
  EXPECT_FALSE(Of(kOrders).isolated);
}

TEST_F(FailureHistoryTest, OtherPipelinesDoNotCount) {
  Fail(kOrders);
  Fail(kPayments);
  EXPECT_FALSE(Of(kOrders).isolated);
  EXPECT_FALSE(Of(kOrders).is_latest);
  EXPECT_FALSE(Of(kPayments).isolated);
  EXPECT_TRUE(Of(kPayments).is_latest);
}

TEST_F(FailureHistoryTest, IsolatedPipelineStaysSoWhileOthersFail) {
  Isolate(kOrders);
  Fail(kPayments);
  EXPECT_TRUE(Of(kOrders).isolated);
}

TEST_F(FailureHistoryTest, ReleasedPipelineHasNoFurtherAttemptWithinAnHour) {
  Isolate(kOrders);
  history_.OnReleased(kOrders, now_);
  EXPECT_FALSE(Of(kOrders).isolated);
  now_ += minutes(10);
  Fail(kOrders);
  EXPECT_TRUE(Of(kOrders).isolated);
}

TEST_F(FailureHistoryTest, UnknownCauseEndsTheProcessTheSecondTime) {
  EXPECT_TRUE(Fail(std::nullopt, "signal 9 (SIGKILL)"));
  EXPECT_EQ(history_.unknown(), "signal 9 (SIGKILL)");
  EXPECT_THAT(history_.pipelines(), IsEmpty());
  now_ += hours(1);
  EXPECT_TRUE(Fail(std::nullopt));
  EXPECT_TRUE(Fail(kOrders));
  EXPECT_THAT(history_.unknown(), IsEmpty());
  EXPECT_FALSE(Fail(std::nullopt));
}

}  // namespace
}  // namespace walrelay
