#include "relay/stall_watch.h"

#include <gtest/gtest.h>

#include "fakes/status_matchers.h"
#include "walrelay/error.h"

namespace walrelay {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;

// Moves a clock by seconds, and answers each examination with `brokers_`.
class StallWatchTest : public ::testing::Test {
 protected:
  // The seconds that pass until the sink is replaced; -1: it is not, for `limit`.
  int UntilReplaced(int limit = 10'000) {
    for (int second = 0; second < limit; ++second) {
      watch_.OnFrontier(frontier_);
      if (watch_.ShouldExamine(now_, waiting_since_, seconds(30))) {
        ++examinations_;
        if (watch_.OnExamined(now_, brokers_)) {
          watch_.OnReplaced(frontier_);
          waiting_since_ = now_;
          return second;
        }
      }
      now_ += seconds(1);
    }
    return -1;
  }

  StallWatch watch_;
  MonoTime now_ = MonoTime() + minutes(10);
  std::optional<MonoTime> waiting_since_ = now_;
  absl::Status brokers_;
  Lsn frontier_{100};
  int examinations_ = 0;
};

TEST_F(StallWatchTest, ClientIsReplacedWhenBrokersCouldHaveAcceptedItsRecords) {
  EXPECT_EQ(UntilReplaced(60), -1);
  EXPECT_EQ(examinations_, 0);
  EXPECT_EQ(UntilReplaced(), 60);  // 120 in all
  EXPECT_GE(examinations_, 2);
}

TEST_F(StallWatchTest, BrokersThatCannotAcceptRecordsAreWaitedFor) {
  brokers_ = Error(ErrorCode::kKafkaStalled, "topic orders, partition 3 has no leader");
  EXPECT_EQ(UntilReplaced(36'000), -1);
  EXPECT_LE(examinations_, 36'000 / 60);
  EXPECT_THAT(watch_.cause(), HasError(ErrorCode::kKafkaStalled, "no leader"));
}

TEST_F(StallWatchTest, TimeOfAnOutageDoesNotCount) {
  brokers_ = Error(ErrorCode::kKafkaUnreachable, "refused");
  EXPECT_EQ(UntilReplaced(600), -1);
  brokers_ = absl::OkStatus();
  EXPECT_GE(UntilReplaced(), 60);
}

TEST_F(StallWatchTest, AnswerBetweenTwoOutagesReplacesNothing) {
  for (int i = 0; i < 100; ++i) {
    brokers_ = i % 2 == 0 ? absl::OkStatus() : Error(ErrorCode::kKafkaUnreachable, "refused");
    EXPECT_EQ(UntilReplaced(50), -1);
  }
}

TEST_F(StallWatchTest, AcknowledgementsThatArriveSlowlyReplaceNothing) {
  for (int i = 0; i < 100; ++i) {
    EXPECT_EQ(UntilReplaced(110), -1);
    waiting_since_ = now_;
    EXPECT_EQ(UntilReplaced(1), -1);
    EXPECT_THAT(watch_.cause(), IsOk());
  }
}

TEST_F(StallWatchTest, NothingWaitsForever) {
  waiting_since_.reset();
  EXPECT_EQ(UntilReplaced(), -1);
  EXPECT_EQ(examinations_, 0);
}

TEST_F(StallWatchTest, TimeBetweenReplacementsDoublesUpToALimit) {
  int before = UntilReplaced();
  for (int i = 0; i < StallWatch::kMostDoublings; ++i) {
    const int next = UntilReplaced();
    EXPECT_EQ(next - 60, 2 * (before - 60));
    before = next;
  }
  EXPECT_EQ(UntilReplaced(), before);
}

TEST_F(StallWatchTest, ProgressOfTheFrontierEndsTheBackOff) {
  const int first = UntilReplaced();
  EXPECT_GT(UntilReplaced(), first);
  frontier_ = Lsn(200);
  EXPECT_EQ(UntilReplaced(), first);
}

TEST_F(StallWatchTest, ResultAfterProgressIsIgnored) {
  now_ += seconds(61);
  EXPECT_TRUE(watch_.ShouldExamine(now_, waiting_since_, seconds(30)));
  EXPECT_FALSE(watch_.ShouldExamine(now_, now_, seconds(30)));
  EXPECT_FALSE(watch_.OnExamined(now_, absl::OkStatus()));
  EXPECT_THAT(watch_.cause(), IsOk());
}

}  // namespace
}  // namespace walrelay
