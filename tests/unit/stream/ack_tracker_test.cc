#include "stream/ack_tracker.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

namespace walrelay {
namespace {

constexpr size_t kBytes = 10;
constexpr Position kRow{Lsn(1), Lsn(1), 1};

class AckTrackerTest : public ::testing::Test {
 protected:
  AckTrackerTest() { tracker_.Restart(Lsn(100)); }

  // Adds a complete transaction with `records` records that ends at `end`. Returns their token.
  DeliveryToken Transaction(uint64_t end, int records) {
    tracker_.Begin(Lsn(1), 1, WallTime());
    const DeliveryToken token = tracker_.token();
    for (int i = 0; i < records; ++i) {
      tracker_.OnProduced(kBytes, kRow);
    }
    tracker_.Commit(Lsn(end));
    return token;
  }
  // A transaction that was handled before is received again.
  void ReadAgain(uint64_t end) {
    tracker_.Begin(Lsn(1), 1, WallTime());
    tracker_.OnSettled();
    tracker_.Commit(Lsn(end));
  }
  void Keepalive(uint64_t wal_end) { tracker_.OnKeepalive(Lsn(wal_end)); }
  void Ack(DeliveryToken token) { tracker_.OnDelivered(token, kBytes); }
  uint64_t Frontier() const { return tracker_.frontier().value(); }

  AckTracker tracker_;
};

TEST_F(AckTrackerTest, TransactionIsConfirmedWhenItsLastRecordIsAcknowledged) {
  const DeliveryToken token = Transaction(200, 2);
  EXPECT_EQ(Frontier(), 100u);
  Ack(token);
  EXPECT_EQ(Frontier(), 100u);
  Ack(token);
  EXPECT_EQ(Frontier(), 200u);
  EXPECT_EQ(tracker_.transactions_in_flight(), 0u);
}

TEST_F(AckTrackerTest, OutOfOrderReportDoesNotMoveFrontier) {
  const DeliveryToken first = Transaction(200, 1);
  const DeliveryToken second = Transaction(300, 1);
  Ack(second);
  EXPECT_EQ(Frontier(), 100u);
  Ack(first);
  EXPECT_EQ(Frontier(), 300u);
}

TEST_F(AckTrackerTest, AcknowledgedRowsOfAnOpenTransactionConfirmNothing) {
  tracker_.Begin(Lsn(1), 1, WallTime());
  tracker_.OnProduced(kBytes, kRow);
  Ack(tracker_.token());
  EXPECT_EQ(Frontier(), 100u);
  tracker_.Commit(Lsn(200));
  EXPECT_EQ(Frontier(), 200u);
}

TEST_F(AckTrackerTest, KeepaliveConfirmsAtOnceWhenNothingIsInFlight) {
  Keepalive(500);
  EXPECT_EQ(Frontier(), 500u);
}

TEST_F(AckTrackerTest, KeepaliveWaitsForEarlierTransactions) {
  const DeliveryToken first = Transaction(200, 1);
  Keepalive(250);
  const DeliveryToken second = Transaction(300, 1);
  EXPECT_EQ(Frontier(), 100u);
  Ack(first);
  EXPECT_EQ(Frontier(), 250u);  // the keepalive waits only for the first
  Ack(second);
  EXPECT_EQ(Frontier(), 300u);
}

TEST_F(AckTrackerTest, KeepaliveInsideATransactionConfirmsNothing) {
  // A keepalive may already cover the commit record of the transaction that is being sent.
  tracker_.Begin(Lsn(1), 1, WallTime());
  tracker_.OnProduced(kBytes, kRow);
  Keepalive(199);
  EXPECT_EQ(Frontier(), 100u);
  EXPECT_EQ(tracker_.resume(), Lsn(100));
  EXPECT_EQ(tracker_.received(), Lsn(199));
}

TEST_F(AckTrackerTest, EmptyTransactionIsConfirmedLikeAKeepalive) {
  Transaction(200, 0);
  EXPECT_EQ(Frontier(), 200u);
  const DeliveryToken token = Transaction(300, 1);
  Transaction(400, 0);
  EXPECT_EQ(Frontier(), 200u);
  Ack(token);
  EXPECT_EQ(Frontier(), 400u);
}

TEST_F(AckTrackerTest, PositionsWithoutRecordsUseNoMemory) {
  Transaction(200, 1);
  for (uint64_t i = 0; i < 10'000; ++i) {
    Keepalive(300 + 2 * i);
    Transaction(301 + 2 * i, 0);
  }
  EXPECT_EQ(tracker_.transactions_in_flight(), 1u);
}

TEST_F(AckTrackerTest, TheLastPublishedTransactionIsBeforeTheFrontier) {
  const PublishedTransaction known{.commit_lsn = Lsn(90), .xid = 5};
  tracker_.Restart(Lsn(100), known);
  EXPECT_EQ(tracker_.last_published(), known);
  tracker_.Begin(Lsn(180), 7, WallTime(Micros(9)));
  const DeliveryToken token = tracker_.token();
  tracker_.OnProduced(10, kRow);
  tracker_.Commit(Lsn(200));
  EXPECT_EQ(tracker_.last_published(), known);
  Ack(token);
  const PublishedTransaction published{
      .commit_lsn = Lsn(180), .xid = 7, .commit_time = WallTime(Micros(9))};
  EXPECT_EQ(tracker_.last_published(), published);
  Transaction(300, 0);  // without events
  EXPECT_EQ(tracker_.last_published(), published);
  tracker_.Reset();
  EXPECT_EQ(tracker_.last_published(), published);
  tracker_.Restart(Lsn(100));
  EXPECT_FALSE(tracker_.last_published().valid());
}

TEST_F(AckTrackerTest, AnAbandonedTransactionIsNotPublished) {
  tracker_.Begin(Lsn(180), 7, WallTime());
  const DeliveryToken token = tracker_.token();
  tracker_.OnProduced(10, kRow);
  tracker_.AbandonOpen();
  Ack(token);
  EXPECT_FALSE(tracker_.last_published().valid());
}

TEST_F(AckTrackerTest, LowerKeepaliveDoesNotMoveFrontierBack) {
  Keepalive(500);
  Keepalive(300);
  EXPECT_EQ(Frontier(), 500u);
  EXPECT_EQ(tracker_.received(), Lsn(500));
}

TEST_F(AckTrackerTest, WindowCountsRecordsAndBytes) {
  const DeliveryToken token = Transaction(200, 3);
  EXPECT_EQ(tracker_.records_in_flight(), 3u);
  EXPECT_EQ(tracker_.bytes_in_flight(), 30u);
  Ack(token);
  EXPECT_EQ(tracker_.records_in_flight(), 2u);
  EXPECT_EQ(tracker_.bytes_in_flight(), 20u);
}

TEST_F(AckTrackerTest, ResetDiscardsRecordsInFlightAndIgnoresTheirReports) {
  const DeliveryToken old = Transaction(200, 1);
  tracker_.Reset();
  EXPECT_EQ(tracker_.records_in_flight(), 0u);
  EXPECT_EQ(tracker_.resume(), Lsn(100));
  tracker_.Resume(Lsn(100));
  const DeliveryToken again = Transaction(200, 1);
  EXPECT_EQ(tracker_.OnDelivered(old, kBytes), std::nullopt);
  EXPECT_EQ(Frontier(), 100u);
  Ack(again);
  EXPECT_EQ(Frontier(), 200u);
}

TEST_F(AckTrackerTest, ResetDiscardsTheOpenTransaction) {
  tracker_.Begin(Lsn(1), 1, WallTime());
  tracker_.OnProduced(kBytes, kRow);
  tracker_.Reset();
  EXPECT_FALSE(tracker_.in_transaction());
  EXPECT_EQ(tracker_.transactions_in_flight(), 0u);
}

TEST_F(AckTrackerTest, BrokenConnectionRepeatsOnlyTheOpenTransaction) {
  const DeliveryToken whole = Transaction(200, 1);
  tracker_.Begin(Lsn(1), 1, WallTime());
  tracker_.OnProduced(kBytes, kRow);
  const DeliveryToken half = tracker_.token();
  tracker_.AbandonOpen();
  EXPECT_EQ(tracker_.resume(), Lsn(200));

  tracker_.Resume(Lsn(100));
  ReadAgain(200);
  const DeliveryToken repeated = Transaction(300, 1);
  EXPECT_NE(repeated, half);
  Ack(whole);
  EXPECT_EQ(Frontier(), 100u);
  Ack(repeated);
  EXPECT_EQ(Frontier(), 100u);  // the abandoned record, still in flight, holds the frontier back
  Ack(half);
  EXPECT_EQ(Frontier(), 300u);
}

// The server may have another transaction there.
TEST_F(AckTrackerTest, WhatIsAcknowledgedCountsOnceItIsReadAgain) {
  const DeliveryToken token = Transaction(200, 1);
  Keepalive(250);
  tracker_.Resume(Lsn(100));
  EXPECT_EQ(tracker_.records_in_flight(), 1u);
  Ack(token);
  EXPECT_EQ(Frontier(), 100u);
  ReadAgain(200);
  EXPECT_EQ(Frontier(), 200u);
}

TEST_F(AckTrackerTest, PositionsThatWereConfirmedAreReadAgainFromTheSlotsPosition) {
  Keepalive(250);
  tracker_.Resume(Lsn(150));
  EXPECT_EQ(Frontier(), 150u);
  EXPECT_EQ(tracker_.resume(), Lsn(150));
  EXPECT_EQ(tracker_.received(), Lsn(150));
}

TEST_F(AckTrackerTest, ResumesWhereItWasBeforeThePositionWasSetBack) {
  Keepalive(250);
  tracker_.Resume(Lsn(100));
  tracker_.Resume(Lsn(200));
  EXPECT_EQ(Frontier(), 200u);
  EXPECT_EQ(tracker_.resume(), Lsn(200));
}

TEST_F(AckTrackerTest, WaitsForWhatIsInFlightWhereTheStreamResumes) {
  const DeliveryToken token = Transaction(300, 1);
  tracker_.Resume(Lsn(200));
  EXPECT_EQ(Frontier(), 100u);
  Ack(token);
  EXPECT_EQ(Frontier(), 200u);
  ReadAgain(300);
  EXPECT_EQ(Frontier(), 300u);
}

TEST_F(AckTrackerTest, FindsATransactionThatIsPublishedInPart) {
  const DeliveryToken token = Transaction(200, 2);
  const Lsn commit = tracker_.last_handled().commit_lsn;
  EXPECT_FALSE(tracker_.PartlyPublished(commit).valid());
  Ack(token);
  EXPECT_EQ(tracker_.PartlyPublished(commit), tracker_.last_handled());
  EXPECT_FALSE(tracker_.PartlyPublished(Lsn(commit.value() + 1)).valid());
}

TEST_F(AckTrackerTest, ARestartMovesTheFrontierBack) {
  const DeliveryToken old = Transaction(200, 1);
  tracker_.Restart(Lsn(50));
  EXPECT_EQ(Frontier(), 50u);
  EXPECT_EQ(tracker_.OnDelivered(old, kBytes), std::nullopt);
}

TEST_F(AckTrackerTest, DeliveryReportReturnsTheCommitTime) {
  const WallTime time(Micros(77));
  tracker_.Begin(Lsn(1), 1, time);
  tracker_.OnProduced(kBytes, kRow);
  EXPECT_EQ(tracker_.oldest_commit_time(), time);
  EXPECT_EQ(tracker_.OnDelivered(tracker_.token(), kBytes), time);
}

using AckTrackerDeathTest = AckTrackerTest;

TEST_F(AckTrackerDeathTest, AcknowledgingMoreThanProducedAborts) {
  const DeliveryToken first = Transaction(200, 1);
  const DeliveryToken second = Transaction(300, 1);
  Ack(second);
  EXPECT_DEATH(Ack(second), "acknowledged once");
  EXPECT_DEATH(Ack({second.transaction + 1, 1}), "waits for it");
  Ack(first);
  EXPECT_DEATH(Ack(first), "waits for it");
}

// A naive model: keeps the whole history as a list and recomputes the frontier on every call.
class NaiveModel {
 public:
  struct Item {
    uint64_t end = 0;
    bool committed = false;
    std::vector<bool> acknowledged;  // one per record
    bool abandoned = false;
  };

  uint64_t Frontier() const {
    uint64_t frontier = start;
    for (const Item& item : items) {
      if (!item.committed || !std::all_of(item.acknowledged.begin(), item.acknowledged.end(),
                                          [](bool done) { return done; })) {
        break;
      }
      if (!item.abandoned) {
        frontier = std::max(frontier, item.end);
      }
    }
    return frontier;
  }

  uint64_t start = 0;
  std::vector<Item> items;
};

// Applies a random history to the tracker and to the model.
class RandomHistory {
 public:
  explicit RandomHistory(uint64_t seed) : random_(seed) {
    tracker_.Restart(Lsn(1));
    model_.start = 1;
  }

  void Step() {
    switch (random_() % 16) {
      case 0:
      case 1:
      case 2:
        return Begin();
      case 3:
      case 4:
      case 5:
      case 6:
        return Produce();
      case 7:
      case 8:
        return Commit();
      case 9:
        return Keepalive();
      case 15:
        return random_() % 8 == 0 ? Break() : Acknowledge();
      default:
        return Acknowledge();
    }
  }

  void Compare() {
    ASSERT_EQ(tracker_.frontier().value(), model_.Frontier());
    ASSERT_EQ(tracker_.records_in_flight(), in_flight_.size());
    ASSERT_EQ(tracker_.bytes_in_flight(), in_flight_.size() * kBytes);
    ASSERT_GE(tracker_.frontier(), last_frontier_);
    ASSERT_GE(tracker_.resume(), tracker_.frontier());
    last_frontier_ = tracker_.frontier();
  }

 private:
  struct InFlight {
    DeliveryToken token;
    size_t item;
    size_t record;
  };

  uint64_t NextPosition() { return position_ += 1 + random_() % 3; }

  void Begin() {
    if (!tracker_.in_transaction()) {
      tracker_.Begin(Lsn(1), 1, WallTime());
      model_.items.push_back({});
    }
  }

  void Produce() {
    if (!tracker_.in_transaction()) {
      return;
    }
    auto& records = model_.items.back().acknowledged;
    in_flight_.push_back({tracker_.token(), model_.items.size() - 1, records.size()});
    records.push_back(false);
    tracker_.OnProduced(kBytes, kRow);
  }

  void Commit() {
    if (tracker_.in_transaction()) {
      model_.items.back().end = NextPosition();
      model_.items.back().committed = true;
      tracker_.Commit(Lsn(model_.items.back().end));
    }
  }

  void Keepalive() {
    // Inside a transaction, the server may report a position before the transaction's end.
    const uint64_t position = NextPosition();
    tracker_.OnKeepalive(Lsn(position));
    if (!tracker_.in_transaction()) {
      model_.items.push_back({.end = position, .committed = true});
    }
  }

  void Acknowledge() {
    if (in_flight_.empty()) {
      return;
    }
    const size_t pick = random_() % in_flight_.size();
    const InFlight report = in_flight_[pick];
    in_flight_.erase(in_flight_.begin() + static_cast<std::ptrdiff_t>(pick));
    ASSERT_TRUE(tracker_.OnDelivered(report.token, kBytes).has_value());
    model_.items[report.item].acknowledged[report.record] = true;
  }

  // Either the connection breaks, or the producer fails and all records in flight are abandoned.
  void Break() {
    if (random_() % 2 == 0) {
      if (tracker_.in_transaction()) {
        model_.items.back().committed = true;
        model_.items.back().abandoned = true;
      }
      tracker_.AbandonOpen();
    } else {
      tracker_.Reset();
      model_.start = model_.Frontier();
      model_.items.clear();
      for (const InFlight& late : in_flight_) {
        ASSERT_EQ(tracker_.OnDelivered(late.token, kBytes), std::nullopt);
      }
      in_flight_.clear();
    }
    const Lsn position = tracker_.frontier();
    for (NaiveModel::Item& item : model_.items) {
      item.end = std::min(item.end, position.value());  // counts once it is read again
    }
    tracker_.Resume(position);
  }

  std::mt19937_64 random_;
  AckTracker tracker_;
  NaiveModel model_;
  std::vector<InFlight> in_flight_;
  uint64_t position_ = 1;
  Lsn last_frontier_;
};

// A token has the low half of a transaction's number. About five days at 5,000 transactions a
// second without a failure lead to the first of these numbers.
TEST(AckTrackerNumbersTest, ReportsCountHoweverLongAgoTheLastResetWas) {
  for (const uint64_t number :
       {(uint64_t{1} << 31) - 1, uint64_t{1} << 31, (uint64_t{1} << 31) + 1,
        (uint64_t{1} << 32) - 1, uint64_t{1} << 32, (uint64_t{1} << 32) + 1, uint64_t{7} << 31}) {
    SCOPED_TRACE(number);
    AckTracker tracker(number);  // no Reset() yet: numbers from 1 on may be in flight
    for (uint64_t end = 200; end < 600; end += 100) {
      tracker.Begin(Lsn(end - 1), 1, WallTime());
      const DeliveryToken token = tracker.token();
      tracker.OnProduced(10, kRow);
      tracker.Commit(Lsn(end));
      EXPECT_TRUE(tracker.PositionOf(token));
      EXPECT_TRUE(tracker.OnDelivered(token, 10));
      EXPECT_EQ(tracker.frontier(), Lsn(end));
    }
    tracker.Begin(Lsn(600), 1, WallTime());
    const DeliveryToken abandoned = tracker.token();
    tracker.OnProduced(10, kRow);
    tracker.Reset();
    EXPECT_FALSE(tracker.OnDelivered(abandoned, 10));
    tracker.Begin(Lsn(700), 1, WallTime());
    EXPECT_FALSE(tracker.OnDelivered(abandoned, 10));
  }
}

TEST(AckTrackerPositionTest, ARecordInFlightNamesItsRow) {
  AckTracker tracker;
  tracker.Restart(Lsn(100));
  tracker.Begin(Lsn(200), 1, WallTime());
  const DeliveryToken first = tracker.token();
  tracker.OnProduced(10, {Lsn(200), Lsn(150), 1});
  const DeliveryToken second = tracker.token();
  tracker.OnProduced(10, {Lsn(200), Lsn(150), 2});
  tracker.Commit(Lsn(210));
  tracker.Begin(Lsn(300), 2, WallTime());
  const DeliveryToken third = tracker.token();
  tracker.OnProduced(10, {Lsn(300), Lsn(140), 1});
  EXPECT_EQ(tracker.PositionOf(first), (Position{Lsn(200), Lsn(150), 1}));
  EXPECT_EQ(tracker.PositionOf(second), (Position{Lsn(200), Lsn(150), 2}));
  EXPECT_EQ(tracker.PositionOf(third), (Position{Lsn(300), Lsn(140), 1}));
  EXPECT_NE(first, second);
}

// Its marks are thinned out: an earlier row is sent again, never only a later one.
TEST(AckTrackerPositionTest, ARecordOfALargeTransactionNamesAnEarlierRow) {
  AckTracker tracker;
  tracker.Restart(Lsn(100));
  tracker.Begin(Lsn(1'000'000), 1, WallTime());
  std::vector<DeliveryToken> tokens;
  for (uint64_t row = 1; row <= 100'000; ++row) {
    tokens.push_back(tracker.token());
    tracker.OnProduced(1, {Lsn(1'000'000), Lsn(row), 1});
  }
  for (uint64_t row = 1; row <= 100'000; row += 777) {
    const auto position = tracker.PositionOf(tokens[row - 1]);
    ASSERT_TRUE(position.has_value());
    EXPECT_LE(*position, (Position{Lsn(1'000'000), Lsn(row), 1}));
  }
  EXPECT_EQ(tracker.PositionOf(tokens.back()), (Position{Lsn(1'000'000), Lsn(100'000), 1}));
}

TEST(AckTrackerPropertyTest, AgreesWithTheNaiveModelOnRandomTraces) {
  for (uint64_t seed = 0; seed < 5'000; ++seed) {
    SCOPED_TRACE(seed);
    RandomHistory history(seed);
    for (int step = 0; step < 120; ++step) {
      history.Step();
      history.Compare();
      if (::testing::Test::HasFatalFailure()) {
        return;
      }
    }
  }
}

}  // namespace
}  // namespace walrelay
