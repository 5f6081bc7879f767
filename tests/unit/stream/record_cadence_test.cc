#include "stream/record_cadence.h"

#include <gtest/gtest.h>

namespace walrelay {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr Unrecorded kEvents{.events = true, .bytes = 100};
constexpr Unrecorded kPosition{.bytes = 100};
constexpr Unrecorded kHorizon{.horizon = true, .bytes = 100};
constexpr Unrecorded kRequested{.bytes = 100, .requested = true};
constexpr Unrecorded kAtOnce{.bytes = 100, .at_once = true};
constexpr Unrecorded kMuchWal{.bytes = RecordCadence::kPositionBytes};

class RecordCadenceTest : public testing::Test {
 protected:
  // How many records are written in a minute in which the same is unrecorded all the time.
  int RecordsInAMinute(const Unrecorded& what) {
    int records = 0;
    for (const MonoTime end = now_ + std::chrono::minutes(1); now_ < end; now_ += milliseconds(1)) {
      if (cadence_.Due(now_, what)) {
        cadence_.OnRecorded(now_);
        ++records;
      }
    }
    return records;
  }
  MonoTime now_ = MonoTime(seconds(1000));
  RecordCadence cadence_{milliseconds(100), now_};
};

TEST_F(RecordCadenceTest, TheFirstRecordIsDueAtOnce) {
  EXPECT_TRUE(cadence_.Due(now_, kPosition));
  EXPECT_TRUE(cadence_.Due(now_, kEvents));
}

TEST_F(RecordCadenceTest, EventsAreRecordedTenTimesASecond) {
  EXPECT_EQ(RecordsInAMinute(kEvents), 600);
}

TEST_F(RecordCadenceTest, APositionIsRecordedEveryTenSeconds) {
  EXPECT_EQ(RecordsInAMinute(kPosition), 6);
}

TEST_F(RecordCadenceTest, APositionIsRecordedSoonerAfterMuchWal) {
  EXPECT_EQ(RecordsInAMinute({.bytes = RecordCadence::kPositionBytes - 1}), 6);
  EXPECT_EQ(RecordsInAMinute(kMuchWal), 600);
}

TEST_F(RecordCadenceTest, ARecordOfEventsIsOneOfThePosition) {
  cadence_.OnRecorded(now_);
  EXPECT_TRUE(cadence_.Due(now_ + seconds(5), kEvents));
  cadence_.OnRecorded(now_ + seconds(5));
  EXPECT_FALSE(cadence_.Due(now_ + seconds(14), kPosition));
  EXPECT_TRUE(cadence_.Due(now_ + seconds(15), kPosition));
}

TEST_F(RecordCadenceTest, ARequestedPositionIsRecordedLikeEvents) {
  cadence_.OnRecorded(now_);
  EXPECT_FALSE(cadence_.Due(now_ + milliseconds(99), kRequested));
  EXPECT_TRUE(cadence_.Due(now_ + milliseconds(100), kRequested));
}

TEST_F(RecordCadenceTest, AHorizonIsRecordedLikeEvents) {
  cadence_.OnRecorded(now_);
  EXPECT_FALSE(cadence_.Due(now_ + milliseconds(99), kHorizon));
  EXPECT_TRUE(cadence_.Due(now_ + milliseconds(100), kHorizon));
}

TEST_F(RecordCadenceTest, ADrainDoesNotWait) {
  cadence_.OnRecorded(now_);
  EXPECT_TRUE(cadence_.Due(now_, kAtOnce));
}

TEST_F(RecordCadenceTest, AStreamBeginsWithARecord) {
  cadence_.OnRecorded(now_);
  EXPECT_FALSE(cadence_.Due(now_ + seconds(1), kPosition));
  cadence_.OnStreamStarted(now_ + seconds(1));
  EXPECT_TRUE(cadence_.Due(now_ + seconds(1), kPosition));
}

TEST_F(RecordCadenceTest, ARefusedRecordIsRetriedLater) {
  cadence_.OnRecorded(now_);
  cadence_.OnRefused(now_ + seconds(30));
  EXPECT_FALSE(cadence_.Due(now_ + seconds(29), kEvents));
  EXPECT_FALSE(cadence_.Due(now_ + seconds(29), kPosition));
  EXPECT_TRUE(cadence_.Due(now_ + seconds(30), kEvents));
}

TEST_F(RecordCadenceTest, ALongerIntervalHoldsForPositionsToo) {
  cadence_ = RecordCadence(seconds(20), now_);
  EXPECT_EQ(RecordsInAMinute(kPosition), 3);
}

TEST_F(RecordCadenceTest, TellsWhenToAskAgain) {
  EXPECT_EQ(cadence_.NextDue(now_), MonoTime::max());
  cadence_.OnRecorded(now_);
  EXPECT_EQ(cadence_.NextDue(now_), now_ + milliseconds(100));
  EXPECT_EQ(cadence_.NextDue(now_ + milliseconds(100)), now_ + seconds(10));
  EXPECT_EQ(cadence_.NextDue(now_ + seconds(10)), MonoTime::max());
}

}  // namespace
}  // namespace walrelay
