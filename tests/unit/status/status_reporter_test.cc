#include "status/status_reporter.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/log.h"
#include "fakes/captured_stream.h"
#include "fakes/relay_views.h"
#include "fakes/sole_metrics.h"
#include "fakes/status_matchers.h"

namespace walrelay {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::HasSubstr;
using testing::kViewNow;
using testing::kViewWall;
using ::testing::Not;
using testing::StreamingView;

class StatusReporterTest : public ::testing::Test {
 protected:
  testing::SoleMetrics metrics_;
  StatusBoard board_;
  DeliveryMeter deliveries_{metrics_, /*max_topics=*/10};
  StatusReporter reporter_{metrics_, board_, deliveries_};
};

TEST_F(StatusReporterTest, StatusIsDueAtIntervalsAndAtTheEnd) {
  EXPECT_TRUE(reporter_.OnTurn(kViewNow, false));
  EXPECT_FALSE(reporter_.OnTurn(kViewNow + milliseconds(199), false));
  EXPECT_TRUE(reporter_.OnTurn(kViewNow + milliseconds(199), true));
  EXPECT_TRUE(reporter_.OnTurn(kViewNow + milliseconds(400), false));
  reporter_.PublishNext();
  EXPECT_TRUE(reporter_.OnTurn(kViewNow + milliseconds(401), false));
}

TEST_F(StatusReporterTest, StateIsShownWithTheTimeOfItsBeginning) {
  RelayView view = StreamingView();
  reporter_.Publish(view);
  EXPECT_EQ(board_.Read().state, RelayState::kStreaming);
  EXPECT_EQ(metrics_.ready->Value(), 1);
  view.wall += seconds(5);
  reporter_.Publish(view);
  EXPECT_EQ(board_.Read().since, kViewWall);
  view.blocked_error = Error(ErrorCode::kRecordTooLarge, "x");
  view.wall += seconds(1);
  reporter_.Publish(view);
  EXPECT_EQ(board_.Read().state, RelayState::kBlocked);
  EXPECT_EQ(board_.Read().since, kViewWall + seconds(6));
  EXPECT_EQ(metrics_.ready->Value(), 0);
}

TEST_F(StatusReporterTest, ErrorIsNotedOnceForEachCode) {
  RelayView view = StreamingView();
  view.blocked_error = Error(ErrorCode::kRecordTooLarge, "row 1");
  reporter_.Publish(view);
  view.blocked_error = Error(ErrorCode::kRecordTooLarge, "row 2");
  reporter_.Publish(view);
  ASSERT_EQ(board_.Snapshot().errors.size(), 1u);
  EXPECT_THAT(board_.Snapshot().errors[0].error, HasError(ErrorCode::kRecordTooLarge, "row 1"));
  view.blocked_error = Error(ErrorCode::kKeyMissing, "row 3");
  reporter_.Publish(view);
  EXPECT_EQ(board_.Snapshot().errors.size(), 2u);
}

TEST_F(StatusReporterTest, LargeRowIsLoggedOnceWhileItArrives) {
  const testing::CapturedStream captured(stderr);
  StartLogging(LogLevel::kInfo, LogFormat::kJson);
  RelayView view = StreamingView();
  for (const uint64_t mebibytes : {63U, 64U, 200U, 0U, 70U}) {
    view.stream->incoming_bytes = mebibytes << 20;
    reporter_.Publish(view);
    EXPECT_EQ(board_.Read().figures.incoming_bytes, mebibytes << 20);
  }
  StopLogging();
  const std::string log = captured.Text();
  EXPECT_THAT(log, HasSubstr("\"bytes\":67108864"));
  EXPECT_THAT(log, HasSubstr("\"bytes\":73400320"));
  EXPECT_THAT(log, Not(HasSubstr("\"bytes\":209715200")));
}

// It was logged when the connection was lost.
TEST_F(StatusReporterTest, LostConnectionIsNotNotedAgain) {
  RelayView view = testing::FirstView();
  view.last_error = Error(ErrorCode::kConnectionLost, "x");
  reporter_.Publish(view);
  EXPECT_EQ(board_.Read().state, RelayState::kDegraded);
  EXPECT_TRUE(board_.Snapshot().errors.empty());
}

TEST_F(StatusReporterTest, ProofEndsWithItsStreamAndIsForgottenWithAGap) {
  RelayView view = StreamingView();
  view.proof = PublishedProof{.backend_pid = 77};
  reporter_.Publish(view);
  EXPECT_TRUE(board_.published()->current);
  view = testing::FirstView();
  reporter_.Publish(view);
  EXPECT_FALSE(board_.published()->current);
  view.held = RelayView::Held{.gap = {.error = Error(ErrorCode::kSlotMoved, "x"), .id = "1"}};
  reporter_.Publish(view);
  EXPECT_FALSE(board_.published().has_value());
}

TEST_F(StatusReporterTest, PointsOfTheChartAreAdded) {
  RelayView view = StreamingView();
  reporter_.Publish(view);
  view.now += seconds(10);
  reporter_.Publish(view);
  EXPECT_EQ(board_.Snapshot().history.size(), 1u);
}

}  // namespace
}  // namespace walrelay
