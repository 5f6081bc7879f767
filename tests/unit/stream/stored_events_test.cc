#include "stream/stored_events.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "fakes/status_matchers.h"

namespace walrelay {
namespace {

constexpr uint64_t kHistory = 0xA1;
constexpr uint64_t kAncestor = 0xA0;
constexpr Lsn kFork(500);
constexpr uint32_t kRouting = 7;
constexpr uint32_t kPartitions = 6;

// `row`: the position of the row's WAL record.
RecordPosition At(uint64_t lsn, uint64_t row, uint64_t history = kHistory) {
  return {.position = {Lsn(lsn), Lsn(row), 1},
          .xid = static_cast<uint32_t>(lsn),
          .history = history,
          .routing = kRouting};
}

class StoredEventsTest : public ::testing::Test {
 protected:
  void Store(const RecordPosition& record, uint32_t partitions = kPartitions) {
    events_.OnRecord(record, partitions, history_, kPartitions);
  }
  bool Contains(const RecordPosition& event) {
    const auto contains = events_.Contains(event);
    EXPECT_THAT(contains, IsOk());
    return contains.ok() && *contains;
  }

  const WalHistory history_{.parts = {{kAncestor, kFork}, {kHistory, Lsn(UINT64_MAX)}},
                            .routing = kRouting};
  StoredEvents events_;
};

TEST_F(StoredEventsTest, NothingIsStoredAtFirst) {
  EXPECT_FALSE(Contains(At(1, 1)));
  EXPECT_EQ(events_.last(), std::nullopt);
}

TEST_F(StoredEventsTest, EverythingUpToTheGreatestPositionOfATransactionIsStored) {
  for (const RecordPosition& record : {At(600, 3), At(600, 5), At(600, 4), At(700, 2)}) {
    Store(record);
  }
  for (const RecordPosition& stored : {At(600, 1), At(600, 5), At(700, 1), At(700, 2)}) {
    EXPECT_TRUE(Contains(stored)) << stored.position.commit_lsn.ToString();
  }
  for (const RecordPosition& later : {At(600, 6), At(700, 3), At(701, 1)}) {
    EXPECT_FALSE(Contains(later)) << later.position.commit_lsn.ToString();
  }
}

TEST_F(StoredEventsTest, RowsOfOneRecordAreDistinguished) {
  RecordPosition event = At(600, 3);
  event.position.index = 2;
  Store(event);
  EXPECT_TRUE(Contains(At(600, 3)));
  EXPECT_TRUE(Contains(event));
  event.position.index = 3;
  EXPECT_FALSE(Contains(event));
}

// The server may have been restored to an older state, and these written since.
TEST_F(StoredEventsTest, TransactionWithoutARecordIsNotStored) {
  Store(At(600, 1));
  Store(At(700, 1));
  EXPECT_FALSE(Contains(At(1, 1)));
  EXPECT_FALSE(Contains(At(650, 1)));
}

TEST_F(StoredEventsTest, TheGreatestPositionCountsNotTheLast) {
  for (const RecordPosition& record : {At(600, 1), At(600, 2), At(700, 1), At(600, 1)}) {
    Store(record);
  }
  EXPECT_EQ(events_.last(), (Position{Lsn(700), Lsn(1), 1}));
}

TEST_F(StoredEventsTest, PositionOfAnotherHistoryIsIgnored) {
  Store(At(600, 1, kHistory + 1));
  EXPECT_FALSE(Contains(At(600, 1)));
}

TEST_F(StoredEventsTest, PositionOfAnotherRoutingIsIgnored) {
  RecordPosition record = At(600, 1);
  record.routing = kRouting + 1;
  Store(record);
  EXPECT_FALSE(Contains(At(600, 1)));
}

TEST_F(StoredEventsTest, PositionOfAnotherPartitionCountIsIgnored) {
  Store(At(600, 1), kPartitions - 1);
  Store(At(600, 1), kPartitions + 1);
  EXPECT_FALSE(Contains(At(600, 1)));
}

TEST_F(StoredEventsTest, PositionOfAnAncestorCountsBeforeTheFork) {
  Store(At(499, 2, kAncestor));
  EXPECT_TRUE(Contains(At(499, 2)));
  EXPECT_FALSE(Contains(At(499, 3)));
}

TEST_F(StoredEventsTest, PositionOfAnAncestorBeyondTheForkIsIgnored) {
  Store(At(400, 1, kAncestor));
  Store(At(500, 1, kAncestor));
  Store(At(900, 1, kAncestor));
  EXPECT_EQ(events_.last(), (Position{Lsn(400), Lsn(1), 1}));
}

TEST_F(StoredEventsTest, EventOfAnotherTransactionAtTheSamePositionIsAnError) {
  Store(At(600, 3));
  RecordPosition event = At(600, 2);
  event.xid = 601;
  EXPECT_THAT(events_.Contains(event),
              HasError(ErrorCode::kHistoryRewritten, "transaction 600, and the server sends"));
  // Both are there: the transaction was sent after an older state had been restored.
  Store(event);
  EXPECT_TRUE(Contains(event));
  EXPECT_TRUE(Contains(At(600, 3)));
}

// An application that repeats its work after an older state was restored gets the same xid and
// position again.
TEST_F(StoredEventsTest, SameTransactionAtAnotherTimeIsAnError) {
  Store(At(600, 3));
  RecordPosition event = At(600, 2);
  event.commit_time += Micros(1);
  EXPECT_THAT(events_.Contains(event),
              HasError(ErrorCode::kHistoryRewritten, "sends transaction 600 of another time"));
  Store(event);
  EXPECT_TRUE(Contains(event));
}

TEST(HistoryIdTest, EachPartMakesAnotherHistory) {
  const std::set<uint64_t> ids = {
      HistoryId("orders", "7391", 1, 0), HistoryId("users", "7391", 1, 0),
      HistoryId("orders", "7392", 1, 0), HistoryId("orders", "7391", 2, 0),
      HistoryId("orders", "7391", 1, 1), HistoryId("orders7", "391", 1, 0)};
  EXPECT_EQ(ids.size(), 6u);
}

// Topics keep it: the next version must compute the same.
TEST(HistoryIdTest, IdStaysTheSame) {
  EXPECT_EQ(HistoryId("orders", "7391", 1, 0), 0x22C4'9C98'7CC6'A3F5);
}

TEST(HistoryOfTest, FirstTimelineHasNoAncestor) {
  const WalHistory history = HistoryOf("orders", {.system_id = "7391", .timeline = 1}, 2, kRouting);
  ASSERT_EQ(history.parts.size(), 1u);
  EXPECT_EQ(history.current(), HistoryId("orders", "7391", 1, 2));
  EXPECT_EQ(history.parts[0].end, Lsn(UINT64_MAX));
  EXPECT_EQ(history.routing, kRouting);
}

TEST(HistoryOfTest, AncestorsEndWhereALaterTimelineBranchedOff) {
  const ServerInfo server{.system_id = "7391",
                          .timeline = 4,
                          .ancestors = {{1, Lsn(300)}, {2, Lsn(900)}, {3, Lsn(500)}}};
  const WalHistory history = HistoryOf("orders", server, 0, kRouting);
  ASSERT_EQ(history.parts.size(), 4u);
  const Lsn ends[] = {Lsn(300), Lsn(500), Lsn(500), Lsn(UINT64_MAX)};
  for (uint32_t timeline = 1; timeline <= 4; ++timeline) {
    const WalHistory::Part& part = history.parts[timeline - 1];
    EXPECT_EQ(part.id, HistoryId("orders", "7391", timeline, 0)) << timeline;
    EXPECT_EQ(part.end, ends[timeline - 1]) << timeline;
  }
}

TEST(IsStoredSafelyTest, AllReplicasOrThoseThatAcknowledgementsRequire) {
  EXPECT_TRUE(IsStoredSafely(3, 3, std::nullopt));
  EXPECT_TRUE(IsStoredSafely(1, 1, std::nullopt));
  EXPECT_TRUE(IsStoredSafely(2, 3, 2));
  EXPECT_TRUE(IsStoredSafely(1, 3, 1));
  EXPECT_TRUE(IsStoredSafely(2, 2, 3));  // more than there are
  EXPECT_FALSE(IsStoredSafely(2, 3, std::nullopt));
  EXPECT_FALSE(IsStoredSafely(1, 3, 2));
  EXPECT_FALSE(IsStoredSafely(0, 3, 0));
  EXPECT_FALSE(IsStoredSafely(0, 0, std::nullopt));
}

}  // namespace
}  // namespace walrelay
