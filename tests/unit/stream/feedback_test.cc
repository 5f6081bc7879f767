#include "stream/feedback.h"

#include <gtest/gtest.h>

namespace walrelay {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

class FeedbackTest : public ::testing::Test {
 protected:
  explicit FeedbackTest(Micros timeout = seconds(60))
      : feedback_({.progress_delay = milliseconds(100),
                   .longest_interval = seconds(10),
                   .reply_spacing = milliseconds(20),
                   .wal_sender_timeout = timeout},
                  now_) {}

  void Pass(Micros time) { now_ += time; }
  void HearFromServer() { feedback_.OnReceived(now_); }
  void Keepalive(uint64_t wal_end, bool reply) {
    HearFromServer();
    feedback_.OnKeepalive(now_, Lsn(wal_end), reply);
  }
  std::optional<FeedbackCause> Due() { return feedback_.Due(now_, frontier_); }
  // Sends feedback if it is due; returns the cause.
  std::optional<FeedbackCause> SendIfDue() {
    const auto cause = Due();
    if (cause) {
      feedback_.OnSent(now_, frontier_, cause == FeedbackCause::kPing);
    }
    return cause;
  }

  MonoTime now_{seconds(1000)};
  Lsn frontier_{100};
  Feedback feedback_;
};

TEST_F(FeedbackTest, NothingIsDueWithoutProgress) {
  EXPECT_EQ(SendIfDue(), std::nullopt);  // the initial frontier counts as progress, after the delay
  Pass(milliseconds(100));
  EXPECT_EQ(SendIfDue(), FeedbackCause::kProgress);
  HearFromServer();
  Pass(seconds(9));
  EXPECT_EQ(Due(), std::nullopt);
}

TEST_F(FeedbackTest, ProgressIsReportedAfterTheDelay) {
  Pass(milliseconds(100));
  SendIfDue();
  frontier_ = Lsn(200);
  Pass(milliseconds(99));
  EXPECT_EQ(Due(), std::nullopt);
  Pass(milliseconds(1));
  EXPECT_EQ(Due(), FeedbackCause::kProgress);
}

TEST_F(FeedbackTest, IntervalHasItsOwnTimer) {
  Pass(milliseconds(100));
  SendIfDue();
  HearFromServer();
  Pass(seconds(10));
  EXPECT_EQ(Due(), FeedbackCause::kInterval);
}

class ShortTimeoutTest : public FeedbackTest {
 protected:
  ShortTimeoutTest() : FeedbackTest(seconds(6)) {}
};

TEST_F(ShortTimeoutTest, IntervalIsAThirdOfTheServersTimeout) {
  Pass(milliseconds(100));
  SendIfDue();
  HearFromServer();
  Pass(seconds(2));
  EXPECT_EQ(Due(), FeedbackCause::kInterval);
}

TEST_F(FeedbackTest, RequestedReplyIsSentAtOnceButNotMoreThanFiftyTimesASecond) {
  Pass(milliseconds(100));
  SendIfDue();
  Pass(milliseconds(20));
  Keepalive(100, true);
  EXPECT_EQ(SendIfDue(), FeedbackCause::kRequested);
  Keepalive(100, true);
  EXPECT_EQ(SendIfDue(), std::nullopt);
  Pass(milliseconds(20));
  EXPECT_EQ(SendIfDue(), FeedbackCause::kRequested);
  EXPECT_EQ(SendIfDue(), std::nullopt);
}

TEST_F(FeedbackTest, UnsolicitedKeepaliveIsNotAnswered) {
  Pass(milliseconds(100));
  SendIfDue();
  for (int i = 0; i < 100; ++i) {
    Pass(milliseconds(1));
    Keepalive(100, false);
    EXPECT_EQ(SendIfDue(), std::nullopt);
  }
}

TEST_F(FeedbackTest, SilentServerGetsOnePingAndIsThenConsideredDead) {
  Pass(milliseconds(100));
  SendIfDue();
  Pass(seconds(10));
  EXPECT_EQ(SendIfDue(), FeedbackCause::kInterval);
  Pass(seconds(20));
  EXPECT_EQ(SendIfDue(), FeedbackCause::kPing);
  EXPECT_EQ(SendIfDue(), std::nullopt);
  EXPECT_FALSE(feedback_.ServerSilent(now_));
  Pass(seconds(30));
  EXPECT_TRUE(feedback_.ServerSilent(now_));
  HearFromServer();
  EXPECT_FALSE(feedback_.ServerSilent(now_));
}

class NoTimeoutTest : public FeedbackTest {
 protected:
  NoTimeoutTest() : FeedbackTest(Micros(0)) {}
};

TEST_F(NoTimeoutTest, ServerWithoutATimeoutIsStillPinged) {
  Pass(seconds(30));
  EXPECT_EQ(Due(), FeedbackCause::kPing);
  Pass(seconds(30));
  EXPECT_TRUE(feedback_.ServerSilent(now_));
}

TEST_F(FeedbackTest, ManyRequestsWithoutProgressMeanTheServerShutsDown) {
  for (int i = 0; i < 20; ++i) {
    Pass(milliseconds(20));
    Keepalive(100, true);
  }
  EXPECT_FALSE(feedback_.ServerLeaving());
  Pass(milliseconds(20));
  Keepalive(100, true);
  EXPECT_TRUE(feedback_.ServerLeaving());
}

TEST_F(FeedbackTest, RequestsWithProgressOrAtALowRateAreOrdinary) {
  for (uint64_t i = 0; i < 100; ++i) {
    Pass(milliseconds(20));
    Keepalive(100 + i, true);
  }
  EXPECT_FALSE(feedback_.ServerLeaving());
  for (int i = 0; i < 100; ++i) {
    Pass(milliseconds(200));
    Keepalive(500, true);
  }
  EXPECT_FALSE(feedback_.ServerLeaving());
}

TEST_F(FeedbackTest, NextDueIsTheTimeAtWhichFeedbackBecomesDue) {
  for (int i = 0; i < 50; ++i) {
    const MonoTime next = feedback_.NextDue(frontier_);
    ASSERT_GT(next, now_);
    now_ = next - Micros(1);
    EXPECT_EQ(Due(), std::nullopt) << i;
    now_ = next;
    ASSERT_TRUE(SendIfDue().has_value()) << i;
    HearFromServer();
    if (i % 3 == 0) {
      frontier_ = Lsn(frontier_.value() + 1);
    }
  }
}

}  // namespace
}  // namespace walrelay
