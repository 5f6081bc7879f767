#include "stream/history_check.h"

#include <gtest/gtest.h>

#include "fakes/status_matchers.h"
#include "walrelay/error.h"

namespace walrelay {
namespace {

constexpr WallTime kTime{std::chrono::seconds(1'000)};
constexpr PublishedTransaction kLast{.commit_lsn = Lsn(100), .xid = 7, .commit_time = kTime};

pgoutput::Begin BeginOf(uint64_t lsn, uint32_t xid = 7, WallTime time = kTime) {
  return {.final_lsn = Lsn(lsn), .commit_time = time, .xid = xid};
}

TEST(HistoryCheckTest, ExpectsNothingByDefault) {
  HistoryCheck check;
  EXPECT_TRUE(check.complete());
  EXPECT_THAT(check.OnBegin(BeginOf(1)), IsOk());
}

TEST(HistoryCheckTest, IsCompleteWhenTheTransactionPasses) {
  HistoryCheck check(kLast);
  EXPECT_THAT(check.OnBegin(BeginOf(50, 6)), IsOk());
  EXPECT_FALSE(check.complete());
  EXPECT_THAT(check.OnBegin(BeginOf(100)), IsOk());
  EXPECT_TRUE(check.complete());
  EXPECT_THAT(check.OnBegin(BeginOf(200, 8)), IsOk());
}

TEST(HistoryCheckTest, AnotherTransactionAtThePosition) {
  EXPECT_THAT(HistoryCheck(kLast).OnBegin(BeginOf(100, 8)), HasError(ErrorCode::kHistoryRewritten));
  EXPECT_THAT(HistoryCheck(kLast).OnBegin(BeginOf(100, 7, kTime + std::chrono::seconds(1))),
              HasError(ErrorCode::kHistoryRewritten));
}

// A restored server may have written to other tables only.
TEST(HistoryCheckTest, NoTransactionBeforeAPosition) {
  EXPECT_THAT(HistoryCheck().OnSentBefore(Lsn(101)), IsOk());
  HistoryCheck check(kLast);
  EXPECT_THAT(check.OnSentBefore(Lsn(100)), IsOk());
  EXPECT_THAT(check.OnSentBefore(Lsn(101)), HasError(ErrorCode::kHistoryRewritten));
  EXPECT_FALSE(check.complete());
  EXPECT_THAT(check.OnBegin(BeginOf(100)), IsOk());
  EXPECT_THAT(check.OnSentBefore(Lsn(101)), IsOk());
}

TEST(HistoryCheckTest, NoTransactionAtThePosition) {
  HistoryCheck check(kLast);
  EXPECT_THAT(check.OnBegin(BeginOf(101)), HasError(ErrorCode::kHistoryRewritten));
  EXPECT_FALSE(check.complete());
}

// The expected transaction is behind a fork, or before the slot's position: only the time shows
// that the server was restored.
TEST(HistoryCheckTest, ASettledTransactionThatCommittedAfterAllThatWasPublished) {
  const HistoryCheck check({}, {}, kTime);
  EXPECT_THAT(check.OnSettled(kLast), IsOk());
  PublishedTransaction later = kLast;
  later.commit_time += Micros(1);
  EXPECT_THAT(check.OnSettled(later), HasError(ErrorCode::kHistoryRewritten, "transaction 7"));
  EXPECT_THAT(HistoryCheck().OnSettled(later), IsOk());
}

XidHorizon Horizon(uint64_t xid, uint64_t lsn) {
  return {.xid = xid, .insert_lsn = Lsn(lsn), .taken = kTime};
}

// A transaction with a smaller xid has its COMMIT before the horizon.
TEST(HistoryCheckTest, AnXidThatHadEndedBefore) {
  HistoryCheck check({}, {}, kTime, {Horizon(10, 100), Horizon(20, 200)});
  EXPECT_THAT(check.OnBegin(BeginOf(99, 5)), IsOk());
  EXPECT_THAT(check.OnBegin(BeginOf(100, 9)), HasError(ErrorCode::kHistoryRewritten));
  EXPECT_THAT(check.OnBegin(BeginOf(100, 10)), IsOk());
  EXPECT_THAT(check.OnBegin(BeginOf(199, 10)), IsOk());
  EXPECT_THAT(check.OnBegin(BeginOf(200, 19)),
              HasError(ErrorCode::kHistoryRewritten, "transaction 19"));
  EXPECT_THAT(check.OnBegin(BeginOf(200, 20)), IsOk());
  EXPECT_THAT(check.OnBegin(BeginOf(300, 4'000)), IsOk());
}

TEST(HistoryCheckTest, XidsWrapAround) {
  constexpr uint64_t kEpoch = uint64_t{1} << 32;
  HistoryCheck check({}, {}, kTime, {Horizon(kEpoch + 5, 100)});
  EXPECT_THAT(check.OnBegin(BeginOf(100, 6)), IsOk());
  EXPECT_THAT(check.OnBegin(BeginOf(100, UINT32_MAX)), HasError(ErrorCode::kHistoryRewritten));
}

}  // namespace
}  // namespace walrelay
