#include "status/relay_description.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fakes/relay_views.h"
#include "fakes/status_matchers.h"

namespace walrelay {
namespace {

using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;
using testing::FirstView;
using ::testing::HasSubstr;
using testing::kViewNow;
using testing::kViewWall;
using testing::StreamingView;
using Phase = RelayView::Phase;

RelayStatus DescribeNow(const RelayView& view) {
  return Describe(view, RelayState::kStreaming);
}

RelayView::Held Held() {
  return {.gap = {.error = Error(ErrorCode::kSlotMoved, "moved"),
                  .id = "2106-1",
                  .from = Lsn(16),
                  .to = Lsn(32)},
          .checks = 3};
}

// --- the state

TEST(DescribeTest, RelayThatHasNotConnectedStarts) {
  RelayView view = FirstView();
  EXPECT_EQ(DescribeNow(view).state, RelayState::kStarting);
  view.last_error = Error(ErrorCode::kPostgresUnreachable, "x");
  EXPECT_EQ(DescribeNow(view).state, RelayState::kDegraded);
  EXPECT_THAT(DescribeNow(view).error, HasError(ErrorCode::kPostgresUnreachable));
  view.last_error = absl::OkStatus();
  view.has_streamed = true;
  EXPECT_EQ(DescribeNow(view).state, RelayState::kDegraded);
}

TEST(DescribeTest, ErrorThatNeedsAnOperatorBlocks) {
  RelayView view = FirstView();
  view.last_error = Error(ErrorCode::kNoReplicationRole, "x");
  EXPECT_EQ(DescribeNow(view).state, RelayState::kBlocked);
}

TEST(DescribeTest, StandbyNamesTheReason) {
  RelayView view = FirstView();
  view.phase = Phase::kWaitingForSlot;
  view.last_error = Error(ErrorCode::kSlotBusy, "by process 7");
  const RelayStatus status = DescribeNow(view);
  EXPECT_EQ(status.state, RelayState::kStandby);
  EXPECT_THAT(status.error, IsOk());
  EXPECT_THAT(status.detail, HasSubstr("by process 7"));
  EXPECT_EQ(status.waits_for, "the slot, which another process holds");
}

TEST(DescribeTest, HeldGapIsShownWithWhatMustBeDone) {
  RelayView view = FirstView();
  view.last_error = Error(ErrorCode::kSlotMoved, "moved");
  view.held = Held();
  RelayStatus status = DescribeNow(view);
  EXPECT_EQ(status.state, RelayState::kBlocked);
  EXPECT_THAT(status.error, HasError(ErrorCode::kSlotMoved));
  EXPECT_EQ(status.detail, "gap 2106-1: 0/10 to 0/20");
  ASSERT_TRUE(status.gap.has_value());
  EXPECT_EQ(status.gap_checks, 3u);
  EXPECT_THAT(status.waits_for, HasSubstr("an operator: "));

  view.held->accepted = true;
  status = DescribeNow(view);
  EXPECT_TRUE(status.gap_accepted);
  EXPECT_THAT(status.detail, HasSubstr(", accepted"));
  EXPECT_THAT(status.waits_for, HasSubstr("the next check of the source"));
  view.last_error = Error(ErrorCode::kPostgresUnreachable, "x");
  EXPECT_THAT(DescribeNow(view).waits_for, HasSubstr("before publishing continues: WR-"));
  view.held->error = Error(ErrorCode::kTableNotPublished, "y");
  EXPECT_THAT(DescribeNow(view).waits_for, HasSubstr("before the gap can be accepted: WR-"));
}

TEST(DescribeTest, StopHidesEverythingElse) {
  RelayView view = FirstView();
  view.held = Held();
  view.draining = true;
  EXPECT_EQ(DescribeNow(view).state, RelayState::kDraining);
  view.finished = true;
  view.result = Error(ErrorCode::kSlotMoved, "moved");
  view.stuck = RelayView::Stuck{.gap = Held().gap};
  const RelayStatus status = DescribeNow(view);
  EXPECT_EQ(status.state, RelayState::kStopped);
  EXPECT_THAT(status.error, HasError(ErrorCode::kSlotMoved));
  EXPECT_TRUE(status.gap.has_value());
  EXPECT_FALSE(status.stuck.has_value());
  EXPECT_EQ(status.waits_for, "");
}

TEST(DescribeTest, BlockingRowOfTheStreamIsMoreExactThanAnEarlierError) {
  RelayView view = StreamingView();
  view.blocked_error = Error(ErrorCode::kRecordTooLarge, "earlier");
  EXPECT_THAT(DescribeNow(view).error, HasError(ErrorCode::kRecordTooLarge));
  view.stream->blocking_error = Error(ErrorCode::kKeyMissing, "now");
  view.stream->blocked_row = "table=outbox id=1";
  const RelayStatus status = DescribeNow(view);
  EXPECT_EQ(status.state, RelayState::kBlocked);
  EXPECT_THAT(status.error, HasError(ErrorCode::kKeyMissing));
  EXPECT_EQ(status.detail, "table=outbox id=1");
}

TEST(DescribeTest, StreamThatLagsIsBehindUntilItHasCaughtUp) {
  RelayView view = StreamingView();
  view.stream->lag = seconds(1);
  EXPECT_EQ(Describe(view, RelayState::kStreaming).state, RelayState::kStreaming);
  EXPECT_EQ(Describe(view, RelayState::kCatchingUp).state, RelayState::kCatchingUp);
  view.stream->lag = milliseconds(400);
  EXPECT_EQ(Describe(view, RelayState::kCatchingUp).state, RelayState::kStreaming);
  view.stream->lag = seconds(3);
  EXPECT_EQ(Describe(view, RelayState::kStreaming).state, RelayState::kCatchingUp);
}

TEST(DescribeTest, RecordsThatAreNotAcknowledgedForSecondsAreAProblem) {
  RelayView view = StreamingView();
  view.records_in_flight = 2;
  view.transactions_in_flight = 1;
  view.last_delivery = kViewNow - seconds(5);
  EXPECT_EQ(DescribeNow(view).state, RelayState::kStreaming);
  view.last_delivery = kViewNow - seconds(6);
  EXPECT_EQ(DescribeNow(view).state, RelayState::kDegraded);
  EXPECT_THAT(DescribeNow(view).error, HasError(ErrorCode::kKafkaStalled, "2 records in flight"));
  view.kafka_trouble = Error(ErrorCode::kKafkaUnreachable, "x");
  EXPECT_THAT(DescribeNow(view).error, HasError(ErrorCode::kKafkaUnreachable));
  view.stall = Error(ErrorCode::kKafkaStalled, "the leader answers");
  EXPECT_THAT(DescribeNow(view).error, HasError(ErrorCode::kKafkaStalled, "the leader answers"));
}

TEST(DescribeTest, StalledStreamNamesItsCause) {
  RelayView view = StreamingView();
  view.stream->stalled_since = kViewNow - seconds(6);
  view.stream->waits_for_log = true;
  EXPECT_THAT(DescribeNow(view).error, HasError(ErrorCode::kLogBlocked));
  view.stream->unseen = Error(ErrorCode::kVisibilityUnknown, "x");
  EXPECT_THAT(DescribeNow(view).error, HasError(ErrorCode::kVisibilityUnknown));
}

TEST(DescribeTest, LateRecordOfProgressIsAProblemUnlessOneBrokerIsMissing) {
  RelayView view = StreamingView();
  view.record = RelayView::Record{.topic = "t", .waiting_since = kViewNow - seconds(6)};
  EXPECT_THAT(DescribeNow(view).error, HasError(ErrorCode::kKafkaStalled, "topic t"));
  view.kafka_trouble = Error(ErrorCode::kKafkaUnreachable, "one broker");
  EXPECT_THAT(DescribeNow(view).error, HasError(ErrorCode::kKafkaStalled, "one broker"));
  view.kafka_reachable = false;
  EXPECT_THAT(DescribeNow(view).error, HasError(ErrorCode::kKafkaUnreachable));
}

TEST(DescribeTest, SilentStreamIsNotUpToDate) {
  RelayView view = testing::SilentView(SilenceCause::kStandby, minutes(1));
  RelayStatus status = DescribeNow(view);
  EXPECT_EQ(status.state, RelayState::kDegraded);
  EXPECT_THAT(status.error, HasError(ErrorCode::kStandbyAwaited));
  EXPECT_EQ(status.figures.cut_off_since, kViewWall - minutes(1));
  status = DescribeNow(testing::SilentView(SilenceCause::kDecoding, minutes(1)));
  EXPECT_EQ(status.state, RelayState::kCatchingUp);
  EXPECT_THAT(status.error, IsOk());
}

// --- what it waits for

TEST(DescribeTest, WaitsAreWordsForOperators) {
  RelayView view = FirstView();
  view.retry_at = kViewNow + seconds(3);
  EXPECT_EQ(DescribeNow(view).waits_for, "the next connection attempt, in 3 s");
  view.stuck = RelayView::Stuck{.gap = Held().gap, .accepted = true};
  EXPECT_THAT(DescribeNow(view).waits_for, HasSubstr("continues behind the transaction"));
  view = StreamingView();
  EXPECT_EQ(DescribeNow(view).waits_for, "");
  view.stream->waits_for = "room in the window";
  EXPECT_EQ(DescribeNow(view).waits_for, "room in the window");
  view.transactions = RelayView::Transactions();
  EXPECT_EQ(DescribeNow(view).waits_for, "the claim of the transactional id");
  view.draining = true;
  EXPECT_THAT(DescribeNow(view).waits_for, HasSubstr("before stopping"));
}

// --- figures, progress, transactions

TEST(DescribeTest, StandbyIsNotCutOff) {
  RelayView view = FirstView();
  view.disconnected_since = kViewNow - minutes(5);
  EXPECT_EQ(DescribeNow(view).figures.cut_off_since, kViewWall - minutes(5));
  view.stood_by = true;
  EXPECT_EQ(DescribeNow(view).figures.cut_off_since, std::nullopt);
}

TEST(DescribeTest, ProcessThatSendsTheStreamIsShown) {
  EXPECT_EQ(DescribeNow(StreamingView()).figures.backend_pid, 77);
  EXPECT_EQ(DescribeNow(FirstView()).figures.backend_pid, 0);
}

TEST(DescribeTest, ProgressIsComparedWithTheFrontierIfEventsAreMissing) {
  RelayView view = StreamingView();
  EXPECT_FALSE(DescribeNow(view).progress.has_value());
  view.record = RelayView::Record{.topic = "t",
                                  .frontier = Lsn(400),
                                  .written = kViewWall,
                                  .confirmable = Lsn(400),
                                  .lacks_events = true};
  EXPECT_EQ(DescribeNow(view).progress->ahead_bytes, 600u);
  EXPECT_EQ(DescribeNow(view).progress->written, kViewWall);
  view.record->lacks_events = false;
  EXPECT_EQ(DescribeNow(view).progress->ahead_bytes, 0u);
  view.record->confirmable = Lsn();
  EXPECT_EQ(DescribeNow(view).progress->ahead_bytes, std::nullopt);
  view.record->frontier.reset();
  EXPECT_EQ(DescribeNow(view).progress->written, std::nullopt);
  view.record->enabled = false;
  EXPECT_FALSE(DescribeNow(view).progress->enabled);
}

TEST(DescribeTest, TransactionIsKnownOnceItsIdIsClaimed) {
  RelayView view = StreamingView();
  view.transactions = RelayView::Transactions{.opened = kViewNow - seconds(2)};
  EXPECT_EQ(DescribeNow(view).transactions->state, TransactionState::kClaiming);
  view.transactions->history.claimed = true;
  EXPECT_EQ(DescribeNow(view).transactions->state, TransactionState::kOpen);
  EXPECT_EQ(DescribeNow(view).transactions->since, kViewWall - seconds(2));
  view.transactions->committing = true;
  EXPECT_EQ(DescribeNow(view).transactions->state, TransactionState::kCommitting);
  view.transactions->committing = false;
  view.transactions->opened.reset();
  EXPECT_EQ(DescribeNow(view).transactions->state, TransactionState::kIdle);
}

TEST(DescribeTest, DeniedTransactionalIdBlocks) {
  RelayView view = StreamingView();
  view.transactions = RelayView::Transactions();
  view.transactions->history.claim_error = Error(ErrorCode::kProducerFenced, "x");
  EXPECT_EQ(DescribeNow(view).state, RelayState::kStreaming);
  view.transactions->history.claim_error = Error(ErrorCode::kTransactionalIdDenied, "x");
  EXPECT_EQ(DescribeNow(view).state, RelayState::kBlocked);
}

}  // namespace
}  // namespace walrelay
