// The codes of transactional errors.

#include "sinks/kafka/client/transaction_error.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fakes/status_matchers.h"
#include "walrelay/error.h"

namespace walrelay {
namespace {

using ::testing::HasSubstr;

absl::Status Of(rd_kafka_resp_err_t error) {
  return TransactionError(error, "detail", "walrelay.test");
}

TEST(TransactionErrorTest, EachCauseHasItsCode) {
  EXPECT_THAT(Of(RD_KAFKA_RESP_ERR__FENCED), HasError(ErrorCode::kProducerFenced));
  EXPECT_THAT(Of(RD_KAFKA_RESP_ERR_PRODUCER_FENCED), HasError(ErrorCode::kProducerFenced));
  EXPECT_THAT(Of(RD_KAFKA_RESP_ERR_INVALID_TRANSACTION_TIMEOUT),
              HasError(ErrorCode::kProducerSetting));
  EXPECT_THAT(Of(RD_KAFKA_RESP_ERR__UNSUPPORTED_FEATURE),
              HasError(ErrorCode::kTransactionsUnsupported));
  EXPECT_THAT(Of(RD_KAFKA_RESP_ERR_INVALID_TXN_STATE), HasError(ErrorCode::kTransactionAborted));
}

TEST(TransactionErrorTest, ADeniedIdNamesTheCommand) {
  const absl::Status error = Of(RD_KAFKA_RESP_ERR_TRANSACTIONAL_ID_AUTHORIZATION_FAILED);
  EXPECT_THAT(error, HasError(ErrorCode::kTransactionalIdDenied));
  EXPECT_THAT(RemedyFor(error), HasSubstr("--transactional-id walrelay.test"));
}

TEST(TransactionErrorTest, ACommitIsInDoubtOnceItWasSent) {
  const auto commit = [](rd_kafka_resp_err_t error, uint64_t sent) {
    return CommitError(error, "detail", "walrelay.test", sent);
  };
  EXPECT_THAT(commit(RD_KAFKA_RESP_ERR__TIMED_OUT, 0), HasError(ErrorCode::kTransactionAborted));
  EXPECT_THAT(commit(RD_KAFKA_RESP_ERR__TIMED_OUT, 1), HasError(ErrorCode::kCommitInDoubt));
  EXPECT_THAT(commit(RD_KAFKA_RESP_ERR__FENCED, 1), HasError(ErrorCode::kProducerFenced));
  EXPECT_THAT(commit(RD_KAFKA_RESP_ERR__FENCED, 2), HasError(ErrorCode::kCommitInDoubt));
}

}  // namespace
}  // namespace walrelay
