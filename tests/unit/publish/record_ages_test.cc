#include "publish/record_ages.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "fakes/fake_sink_factory.h"
#include "fakes/status_matchers.h"
#include "walrelay/error.h"

namespace walrelay {
namespace {

using std::chrono::hours;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr WallTime kNow = std::chrono::sys_days(std::chrono::year(2026) / 11 / 27);

class RecordAgesTest : public ::testing::Test {
 protected:
  std::vector<DeletedAtOnce> Deleted() const {
    return ages_.DeletedBy({{"orders", hours(24)}, {"unused", hours(1)}}, kNow);
  }

  RecordAges ages_;
};

TEST_F(RecordAgesTest, RecordsOlderThanTheRetentionAreCounted) {
  ages_.Note("orders", kNow - hours(25));
  ages_.Note("orders", kNow - hours(999));
  ages_.Note("orders", kNow - hours(22));
  ages_.Note("orders", std::nullopt);  // the sink's clock
  ages_.Note("other", kNow - hours(999));
  EXPECT_THAT(Deleted(), ElementsAre(DeletedAtOnce{"orders", hours(24), 2, 4}));
  EXPECT_EQ(Describe(Deleted()[0]),
            "2 of 4 records for topic orders: older than the 24 h for which it keeps records");
  EXPECT_THAT(ages_.topics(), ElementsAre("orders", "other"));
}

TEST_F(RecordAgesTest, YoungRecordsAreKept) {
  ages_.Note("orders", kNow - hours(1));
  ages_.Note("orders", kNow + hours(999));
  EXPECT_THAT(Deleted(), IsEmpty());
}

TEST_F(RecordAgesTest, TopicWhoseRetentionIsUnknownIsNotCompared) {
  ages_.Note("other", kNow - hours(999));
  EXPECT_THAT(Deleted(), IsEmpty());
}

// Rows choose the times with route.timestamp = "column:NAME".
TEST_F(RecordAgesTest, AnyTimesAreCountedInLimitedMemory) {
  const uint64_t count = 3 * RecordAges::kMostHours;
  for (uint64_t i = 0; i < count; ++i) {
    ages_.Note("orders", kNow - hours(48 + i));
  }
  ages_.Note("orders", WallTime::max());
  ages_.Note("orders", WallTime::min());
  ASSERT_EQ(Deleted().size(), 1u);
  EXPECT_EQ(Deleted()[0].of, count + 2);
  EXPECT_GE(Deleted()[0].records, count);
}

// An earlier hour rather than a later one: nothing is deleted unnoticed.
TEST_F(RecordAgesTest, RecordBeyondTheLimitOfHoursCountsAsOlder) {
  for (size_t i = 0; i < RecordAges::kMostHours; ++i) {
    ages_.Note("other", WallTime(hours(i)));
  }
  ages_.Note("orders", kNow - hours(1));
  EXPECT_THAT(Deleted(), IsEmpty());
  ages_.Note("orders", kNow - hours(30));  // its own hour becomes that of the topic
  EXPECT_THAT(Deleted(), ElementsAre(DeletedAtOnce{"orders", hours(24), 2, 2}));
  ages_.Note("orders", kNow - hours(2));
  EXPECT_THAT(Deleted(), ElementsAre(DeletedAtOnce{"orders", hours(24), 3, 3}));
}

TEST_F(RecordAgesTest, RecordsOfFurtherTopicsAreCountedOnly) {
  for (size_t i = 0; i < RecordAges::kMostTopics; ++i) {
    ages_.Note("topic-" + std::to_string(i), std::nullopt);
  }
  EXPECT_EQ(ages_.uncompared(), 0u);
  ages_.Note("orders", kNow - hours(999));
  ages_.Note("topic-0", kNow - hours(999));
  EXPECT_EQ(ages_.uncompared(), 1u);
  EXPECT_EQ(ages_.topics().size(), RecordAges::kMostTopics);
  testing::FakeSinkFactory sinks;
  EXPECT_THAT(ReadDeletedAtOnce(sinks, ages_, kNow),
              HasError(ErrorCode::kKeptTooShortly, "1 records are for more topics"));
}

TEST_F(RecordAgesTest, BrokersAreAskedForTheTopicsOfTheRecords) {
  testing::FakeSinkFactory sinks;
  EXPECT_THAT(ReadDeletedAtOnce(sinks, ages_, kNow), IsOkAndHolds(IsEmpty()));
  EXPECT_THAT(sinks.asked, IsEmpty());
  ages_.Note("orders", kNow - hours(25));
  sinks.retention = {{"orders", hours(24)}};
  EXPECT_THAT(ReadDeletedAtOnce(sinks, ages_, kNow),
              IsOkAndHolds(ElementsAre(DeletedAtOnce{"orders", hours(24), 1, 1})));
  EXPECT_THAT(sinks.asked, ElementsAre("orders"));
}

}  // namespace
}  // namespace walrelay
