#include "status/cut_off.h"

#include <gtest/gtest.h>

#include "fakes/relay_views.h"
#include "fakes/status_matchers.h"

namespace walrelay {
namespace {

using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;
using testing::kViewNow;
using testing::kViewWall;

TEST(SilenceTest, StreamThatWaitsForAStandbyIsSilentSinceThen) {
  RelayView view = testing::SilentView(SilenceCause::kStandby, minutes(5));
  view.sampler.slot = kViewWall - seconds(2);
  const auto silence = SilenceOf(view);
  ASSERT_TRUE(silence.has_value());
  EXPECT_THAT(silence->error, HasError(ErrorCode::kStandbyAwaited));
  EXPECT_EQ(silence->lasts, minutes(5) + seconds(2));
  EXPECT_EQ(SilentSince(view), kViewWall - silence->lasts);
}

TEST(SilenceTest, SampleThatDoesNotDescribeTheStreamDoesNotCount) {
  const RelayView silent = testing::SilentView(SilenceCause::kStandby, minutes(5));
  RelayView view = silent;
  view.stream->backend_pid = 78;
  EXPECT_FALSE(SilenceOf(view).has_value()) << "of another process";
  view = silent;
  view.received = Lsn(1001);
  EXPECT_FALSE(SilenceOf(view).has_value()) << "something was received since";
  view = silent;
  view.stream->stalled_since = kViewNow;
  EXPECT_FALSE(SilenceOf(view).has_value()) << "this process does not read";
  view = silent;
  view.sampler.slot = kViewWall - hours(1);
  EXPECT_FALSE(SilenceOf(view).has_value()) << "an old sample";
  view = silent;
  view.sampler.failure = Error(ErrorCode::kPostgresUnreachable, "x");
  EXPECT_FALSE(SilenceOf(view).has_value()) << "the last sample failed";
  view = silent;
  view.stream.reset();
  EXPECT_FALSE(SilenceOf(view).has_value()) << "no stream";
}

// Rows of a transaction that is not complete do not move the position.
TEST(SilenceTest, HandledRowEndsIt) {
  RelayView view = testing::SilentView(SilenceCause::kDecoding, minutes(5));
  view.stream->last_handled = kViewNow - minutes(1);
  EXPECT_FALSE(SilenceOf(view).has_value());
  // A wait for a standby may have begun on an earlier connection.
  view = testing::SilentView(SilenceCause::kStandby, minutes(5));
  view.stream->last_handled = kViewNow - minutes(1);
  EXPECT_TRUE(SilenceOf(view).has_value());
}

TEST(SilenceTest, DecodingDelaysEventsOnlyIfSomeMayWait) {
  RelayView view = testing::SilentView(SilenceCause::kDecoding, seconds(11));
  EXPECT_EQ(SilentSince(view), kViewWall - seconds(11));
  view.tables = {TableReading{.name = "outbox", .unpublished = RowCount()}};
  EXPECT_EQ(SilentSince(view), std::nullopt);
  EXPECT_EQ(SilentSince(testing::SilentView(SilenceCause::kDecoding, seconds(9))), std::nullopt);
}

TEST(TimeCutOffTest, IsTheLongestOfWhatIsKnown) {
  RelayView view = testing::FirstView();
  view.disconnected_since = kViewNow - seconds(3);
  EXPECT_EQ(TimeCutOff(view), seconds(3));
  SlotSample slot{.exists = true, .row = {.confirmed_flush_lsn = Lsn(100)}, .wal_end = Lsn(900)};
  slot.lag_age = minutes(2);
  view.slot = slot;
  view.sampler.slot = kViewWall - seconds(1);
  EXPECT_EQ(TimeCutOff(view), minutes(2) + seconds(1));
  view.slot->row.inactive_since = kViewWall - hours(1);
  EXPECT_EQ(TimeCutOff(view), hours(1));
  // Without a lag nothing waits.
  view.slot->wal_end = Lsn(100);
  EXPECT_EQ(TimeCutOff(view), seconds(3));
}

}  // namespace
}  // namespace walrelay
