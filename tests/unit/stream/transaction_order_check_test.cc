#include "stream/transaction_order_check.h"

#include <gtest/gtest.h>

#include "fakes/status_matchers.h"

namespace walrelay {
namespace {

class TransactionOrderCheckTest : public ::testing::Test {
 protected:
  absl::Status Begin(uint64_t commit_lsn) {
    return transactions_.OnBegin({.final_lsn = Lsn(commit_lsn), .commit_time = {}, .xid = 1});
  }
  absl::Status Row(uint64_t lsn = 0) { return transactions_.OnRow(Lsn(lsn)); }
  absl::Status Commit(uint64_t commit_lsn, uint64_t end_lsn) {
    return transactions_.OnCommit(
        {.commit_lsn = Lsn(commit_lsn), .end_lsn = Lsn(end_lsn), .commit_time = {}});
  }

  TransactionOrderCheck transactions_;
};

TEST_F(TransactionOrderCheckTest, TransactionsAreFollowedAndRowsCounted) {
  EXPECT_THAT(Begin(10), IsOk());
  EXPECT_THAT(Row(), IsOk());
  EXPECT_THAT(Row(), IsOk());
  ASSERT_NE(transactions_.open(), nullptr);
  EXPECT_EQ(transactions_.open()->rows, 2u);
  EXPECT_THAT(Commit(10, 12), IsOk());
  EXPECT_EQ(transactions_.open(), nullptr);
  EXPECT_THAT(Begin(12), IsOk());  // a COMMIT's end is often the next one's start
  EXPECT_THAT(Commit(12, 13), IsOk());
}

TEST_F(TransactionOrderCheckTest, OriginPrecedesTheRowsOfATransaction) {
  EXPECT_THAT(transactions_.OnOrigin(), HasError(ErrorCode::kProtocolViolation));
  EXPECT_THAT(Begin(10), IsOk());
  EXPECT_THAT(transactions_.OnOrigin(), IsOk());
  EXPECT_THAT(Row(), IsOk());
  EXPECT_THAT(transactions_.OnOrigin(), HasError(ErrorCode::kProtocolViolation));
}

TEST_F(TransactionOrderCheckTest, RowsAreNumberedWithinTheirRecord) {
  EXPECT_THAT(Begin(10), IsOk());
  EXPECT_EQ(transactions_.open()->NextRow(Lsn(5)), (Position{Lsn(10), Lsn(5), 1}));
  EXPECT_THAT(Row(5), IsOk());
  EXPECT_EQ(transactions_.open()->last_row, (Position{Lsn(10), Lsn(5), 1}));
  EXPECT_THAT(Row(5), IsOk());
  EXPECT_EQ(transactions_.open()->last_row, (Position{Lsn(10), Lsn(5), 2}));
  EXPECT_THAT(Row(7), IsOk());
  EXPECT_EQ(transactions_.open()->last_row, (Position{Lsn(10), Lsn(7), 1}));
  EXPECT_THAT(Commit(10, 12), IsOk());
  EXPECT_THAT(Begin(20), IsOk());
  EXPECT_THAT(Row(7), IsOk());
  EXPECT_EQ(transactions_.open()->last_row, (Position{Lsn(20), Lsn(7), 1}));
}

// No server is known to send such rows, except around a function of an index that writes.
TEST_F(TransactionOrderCheckTest, PositionsNeverGoBackInATransaction) {
  EXPECT_THAT(Begin(10), IsOk());
  EXPECT_THAT(Row(7), IsOk());
  EXPECT_THAT(Row(5), IsOk());
  EXPECT_EQ(transactions_.open()->last_row, (Position{Lsn(10), Lsn(7), 2}));
  EXPECT_THAT(Row(0), IsOk());
  EXPECT_EQ(transactions_.open()->last_row, (Position{Lsn(10), Lsn(7), 3}));
}

TEST_F(TransactionOrderCheckTest, StreamAbortIsIgnoredUnlessItNamesTheOpenTransaction) {
  EXPECT_THAT(transactions_.OnStreamAbort({.xid = 1, .subxid = 2}), IsOk());
  EXPECT_THAT(Begin(10), IsOk());
  EXPECT_THAT(Row(), IsOk());
  EXPECT_THAT(transactions_.OnStreamAbort({.xid = 5, .subxid = 6}), IsOk());
  EXPECT_EQ(transactions_.open()->rows, 1u);
  EXPECT_THAT(transactions_.OnStreamAbort({.xid = 1, .subxid = 6}),
              HasError(ErrorCode::kProtocolViolation));
}

TEST_F(TransactionOrderCheckTest, NestedBeginIsAViolation) {
  EXPECT_THAT(Begin(10), IsOk());
  EXPECT_THAT(Begin(20), HasError(ErrorCode::kProtocolViolation));
}

TEST_F(TransactionOrderCheckTest, RowAndCommitOutsideATransactionAreViolations) {
  EXPECT_THAT(Row(), HasError(ErrorCode::kProtocolViolation));
  EXPECT_THAT(Commit(10, 12), HasError(ErrorCode::kProtocolViolation));
}

TEST_F(TransactionOrderCheckTest, CommitOfAnotherTransactionIsAViolation) {
  EXPECT_THAT(Begin(10), IsOk());
  EXPECT_THAT(Commit(11, 12), HasError(ErrorCode::kProtocolViolation));
}

TEST_F(TransactionOrderCheckTest, CommitWithoutLengthIsAViolation) {
  EXPECT_THAT(Begin(10), IsOk());
  EXPECT_THAT(Commit(10, 10), HasError(ErrorCode::kProtocolViolation));
}

TEST_F(TransactionOrderCheckTest, CommitsNeverGoBack) {
  EXPECT_THAT(Begin(20), IsOk());
  EXPECT_THAT(Commit(20, 22), IsOk());
  EXPECT_THAT(Begin(10), IsOk());
  EXPECT_THAT(Commit(10, 12), HasError(ErrorCode::kProtocolViolation));
}

}  // namespace
}  // namespace walrelay
