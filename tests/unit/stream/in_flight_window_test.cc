#include "stream/in_flight_window.h"

#include <gtest/gtest.h>

#include <array>
#include <deque>
#include <string>
#include <vector>

namespace walrelay {
namespace {

class InFlightWindowTest : public ::testing::Test {
 protected:
  InFlightWindow Window(int64_t records, int64_t bytes = 1'000'000) {
    tracker_.Restart(Lsn(1));
    return InFlightWindow({.max_in_flight_records = records, .max_in_flight_bytes = bytes});
  }
  void Begin() { tracker_.Begin(Lsn(1), 1, WallTime()); }
  void Commit() { tracker_.Commit(Lsn(end_ += 8)); }
  void Produce(size_t count = 1, size_t bytes = 1) {
    for (size_t i = 0; i < count; ++i) {
      tracker_.OnProduced(bytes, Position());
      in_flight_.emplace_back(tracker_.token(), bytes);
    }
  }
  // `count` transactions of one record each.
  void Transactions(size_t count, size_t bytes = 1) {
    for (size_t i = 0; i < count; ++i) {
      Begin();
      Produce(1, bytes);
      Commit();
    }
  }
  // Acknowledges the oldest records in flight, or the newest one.
  void Acknowledge(size_t count = 1) {
    for (size_t i = 0; i < count; ++i) {
      tracker_.OnDelivered(in_flight_.front().first, in_flight_.front().second);
      in_flight_.pop_front();
    }
  }
  void AcknowledgeNewest() {
    tracker_.OnDelivered(in_flight_.back().first, in_flight_.back().second);
    in_flight_.pop_back();
  }

  AckTracker tracker_;

 private:
  uint64_t end_ = 1;
  std::deque<std::pair<DeliveryToken, size_t>> in_flight_;
};

TEST_F(InFlightWindowTest, WindowAdmitsRecordsUpToItsLimit) {
  InFlightWindow window = Window(10);
  Begin();
  for (int i = 0; i < 10; ++i) {
    EXPECT_TRUE(window.Admits(tracker_)) << i;
    Produce();
  }
  EXPECT_FALSE(window.Admits(tracker_));
}

TEST_F(InFlightWindowTest, FullWindowReopensBelowThreeQuarters) {
  InFlightWindow window = Window(100);
  Transactions(100);
  EXPECT_FALSE(window.Admits(tracker_));
  Acknowledge(25);
  EXPECT_FALSE(window.Admits(tracker_)) << "75 in flight";
  Acknowledge();
  EXPECT_TRUE(window.Admits(tracker_)) << "74 in flight";
}

TEST_F(InFlightWindowTest, ReopenedWindowHasItsFullSize) {
  InFlightWindow window = Window(100);
  Transactions(100);
  EXPECT_FALSE(window.Admits(tracker_));
  Acknowledge(26);
  EXPECT_TRUE(window.Admits(tracker_));
  Transactions(25);
  EXPECT_TRUE(window.Admits(tracker_)) << "99 in flight";
  Transactions(1);
  EXPECT_FALSE(window.Admits(tracker_)) << "100 in flight";
}

TEST_F(InFlightWindowTest, BytesCloseTheWindowToo) {
  InFlightWindow window = Window(100, 1'000);
  Transactions(3, 400);
  EXPECT_FALSE(window.Admits(tracker_));
  Acknowledge();
  EXPECT_FALSE(window.Admits(tracker_)) << "800 of 1000 bytes in flight";
  Acknowledge();
  EXPECT_TRUE(window.Admits(tracker_));
}

TEST_F(InFlightWindowTest, OneRecordOfAnySizeIsAdmitted) {
  InFlightWindow window = Window(1, 1);
  EXPECT_TRUE(window.Admits(tracker_));
  Transactions(1, 1 << 30);
  EXPECT_FALSE(window.Admits(tracker_));
  Acknowledge();
  EXPECT_TRUE(window.Admits(tracker_));
}

// BEGIN already counts the transaction, before it has a record.
TEST_F(InFlightWindowTest, OpenTransactionDoesNotBlockItself) {
  InFlightWindow window = Window(1);
  Begin();
  EXPECT_TRUE(window.Admits(tracker_));
}

TEST_F(InFlightWindowTest, FinishedTransactionsAfterAnUnacknowledgedRecordCloseTheWindow) {
  InFlightWindow window = Window(10);
  Transactions(1);
  for (int i = 0; i < 10; ++i) {
    EXPECT_TRUE(window.Admits(tracker_)) << i;
    Transactions(1);
    AcknowledgeNewest();
  }
  EXPECT_EQ(tracker_.records_in_flight(), 1u);
  EXPECT_FALSE(window.Admits(tracker_));
  Acknowledge();
  EXPECT_TRUE(window.Admits(tracker_));
}

// --- size of a record ---

TEST(WindowBytesTest, HeadersAndEmptyRecordsCount) {
  EXPECT_EQ(Record().window_bytes(), Record::kOverheadBytes);
  const std::array<Header, 2> headers = {{{"name", "value"}, {"null", std::nullopt}}};
  EXPECT_EQ(Record({.key = "key", .value = "value", .headers = headers}).window_bytes(),
            Record::kOverheadBytes + 3 + 5 + 4 + 5 + 4);
}

}  // namespace
}  // namespace walrelay
