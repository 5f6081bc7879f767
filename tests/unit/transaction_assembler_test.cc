#include "stream/transaction_assembler.h"

#include <gtest/gtest.h>

#include "support/status_matchers.h"

namespace walrelay {
namespace {

class TransactionAssemblerTest : public ::testing::Test {
 protected:
  absl::Status Begin(uint64_t commit_lsn) {
    return assembler_.OnBegin({.final_lsn = Lsn(commit_lsn), .commit_time = {}, .xid = 1});
  }
  absl::Status Row() { return assembler_.OnRow(); }
  absl::Status Commit(uint64_t commit_lsn, uint64_t end_lsn) {
    return assembler_.OnCommit(
        {.commit_lsn = Lsn(commit_lsn), .end_lsn = Lsn(end_lsn), .commit_time = {}});
  }

  TransactionAssembler assembler_;
};

TEST_F(TransactionAssemblerTest, TransactionsAreFollowedAndRowsCounted) {
  EXPECT_THAT(Begin(10), IsOk());
  EXPECT_THAT(Row(), IsOk());
  EXPECT_THAT(Row(), IsOk());
  ASSERT_NE(assembler_.open(), nullptr);
  EXPECT_EQ(assembler_.open()->rows, 2u);
  EXPECT_THAT(Commit(10, 12), IsOk());
  EXPECT_EQ(assembler_.open(), nullptr);
  EXPECT_THAT(Begin(12), IsOk());  // a COMMIT's end is often the next one's start
  EXPECT_THAT(Commit(12, 13), IsOk());
}

TEST_F(TransactionAssemblerTest, StreamAbortIsIgnoredUnlessItNamesTheOpenTransaction) {
  EXPECT_THAT(assembler_.OnStreamAbort({.xid = 1, .subxid = 2}), IsOk());
  EXPECT_THAT(Begin(10), IsOk());
  EXPECT_THAT(Row(), IsOk());
  EXPECT_THAT(assembler_.OnStreamAbort({.xid = 5, .subxid = 6}), IsOk());
  EXPECT_EQ(assembler_.open()->rows, 1u);
  EXPECT_THAT(assembler_.OnStreamAbort({.xid = 1, .subxid = 6}),
              HasError(ErrorCode::kProtocolViolation));
}

TEST_F(TransactionAssemblerTest, NestedBeginIsAViolation) {
  EXPECT_THAT(Begin(10), IsOk());
  EXPECT_THAT(Begin(20), HasError(ErrorCode::kProtocolViolation));
}

TEST_F(TransactionAssemblerTest, RowAndCommitOutsideATransactionAreViolations) {
  EXPECT_THAT(Row(), HasError(ErrorCode::kProtocolViolation));
  EXPECT_THAT(Commit(10, 12), HasError(ErrorCode::kProtocolViolation));
}

TEST_F(TransactionAssemblerTest, CommitOfAnotherTransactionIsAViolation) {
  EXPECT_THAT(Begin(10), IsOk());
  EXPECT_THAT(Commit(11, 12), HasError(ErrorCode::kProtocolViolation));
}

TEST_F(TransactionAssemblerTest, CommitWithoutLengthIsAViolation) {
  EXPECT_THAT(Begin(10), IsOk());
  EXPECT_THAT(Commit(10, 10), HasError(ErrorCode::kProtocolViolation));
}

TEST_F(TransactionAssemblerTest, CommitsNeverGoBack) {
  EXPECT_THAT(Begin(20), IsOk());
  EXPECT_THAT(Commit(20, 22), IsOk());
  EXPECT_THAT(Begin(10), IsOk());
  EXPECT_THAT(Commit(10, 12), HasError(ErrorCode::kProtocolViolation));
}

}  // namespace
}  // namespace walrelay
