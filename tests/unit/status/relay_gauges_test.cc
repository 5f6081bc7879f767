#include "status/relay_gauges.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fakes/relay_views.h"
#include "fakes/sole_metrics.h"

namespace walrelay {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;
using ::testing::HasSubstr;
using testing::kViewNow;
using testing::kViewWall;
using ::testing::Not;

class RelayGaugesTest : public ::testing::Test {
 protected:
  testing::SoleMetrics metrics_;
  RelayGauges gauges_{metrics_};
};

TEST_F(RelayGaugesTest, SeriesOfAlertsExistFromTheStart) {
  for (const char* name :
       {"walrelay_ready{", "walrelay_leader{", "walrelay_gap_held{",
        "walrelay_replication_connected{", "walrelay_oldest_unpublished_age_seconds{"}) {
    EXPECT_THAT(metrics_.Text(), HasSubstr(name));
  }
  EXPECT_THAT(metrics_.Text(), Not(HasSubstr("walrelay_inflight_records{")));
}

TEST_F(RelayGaugesTest, StreamIsShownWithItsWindow) {
  RelayView view = testing::StreamingView();
  view.records_in_flight = 3;
  view.max_in_flight_records = 100;
  view.oldest_commit = kViewWall - seconds(4);
  gauges_.Update(view, RelayState::kStreaming);
  EXPECT_EQ(metrics_.leader->Value(), 1);
  EXPECT_EQ(metrics_.inflight_records->Value(), 3);
  EXPECT_EQ(metrics_.inflight_records_limit->Value(), 100);
  EXPECT_EQ(metrics_.replication_received_lsn->Value(), 1000);
  EXPECT_EQ(metrics_.oldest_unpublished_age_seconds->Value(), 4);
  EXPECT_THAT(metrics_.Text(), Not(HasSubstr("walrelay_progress_recorded_lsn{")));
  EXPECT_THAT(metrics_.Text(), Not(HasSubstr("walrelay_kafka_transaction_age_seconds{")));
}

TEST_F(RelayGaugesTest, AgeGrowsWhileNothingIsRead) {
  RelayView view = testing::FirstView();
  view.disconnected_since = kViewNow - minutes(5);
  gauges_.Update(view, RelayState::kDegraded);
  EXPECT_EQ(metrics_.oldest_unpublished_age_seconds->Value(), 300);
  gauges_.Update(testing::SilentView(SilenceCause::kStandby, minutes(2)), RelayState::kDegraded);
  EXPECT_EQ(metrics_.oldest_unpublished_age_seconds->Value(), 120);
}

TEST_F(RelayGaugesTest, StandbyRemovesWhatTheReaderOfTheSlotReports) {
  RelayView view = testing::StreamingView();
  gauges_.Update(view, RelayState::kStreaming);
  EXPECT_THAT(metrics_.Text(), HasSubstr("walrelay_inflight_records{"));
  view = testing::FirstView();
  view.has_streamed = view.stood_by = true;
  gauges_.Update(view, RelayState::kStandby);
  EXPECT_EQ(metrics_.leader->Value(), 0);
  EXPECT_THAT(metrics_.Text(), Not(HasSubstr("walrelay_inflight_records{")));
  EXPECT_THAT(metrics_.Text(), Not(HasSubstr("walrelay_oldest_unpublished_age_seconds{")));
}

TEST_F(RelayGaugesTest, PositionOfTheRecordIsZeroBeforeTheFirst) {
  RelayView view = testing::StreamingView();
  view.record = RelayView::Record();
  gauges_.Update(view, RelayState::kStreaming);
  EXPECT_EQ(metrics_.progress_recorded_lsn->Value(), 0);
  EXPECT_THAT(metrics_.Text(), Not(HasSubstr("walrelay_progress_recorded_timestamp_seconds{")));
  view.record->frontier = Lsn(400);
  view.record->written = kViewWall;
  gauges_.Update(view, RelayState::kStreaming);
  EXPECT_EQ(metrics_.progress_recorded_lsn->Value(), 400);
  EXPECT_GT(metrics_.progress_recorded_timestamp->Value(), 0);
  view.record->enabled = false;
  gauges_.Update(view, RelayState::kStreaming);
  EXPECT_THAT(metrics_.Text(), Not(HasSubstr("walrelay_progress_recorded")));
}

TEST_F(RelayGaugesTest, AgeOfTheTransactionIsShown) {
  RelayView view = testing::StreamingView();
  view.transactions = RelayView::Transactions{.opened = kViewNow - seconds(3)};
  gauges_.Update(view, RelayState::kStreaming);
  EXPECT_EQ(metrics_.kafka_transaction_age->Value(), 3);
  view.transactions->opened.reset();
  gauges_.Update(view, RelayState::kStreaming);
  EXPECT_EQ(metrics_.kafka_transaction_age->Value(), 0);
}

}  // namespace
}  // namespace walrelay
