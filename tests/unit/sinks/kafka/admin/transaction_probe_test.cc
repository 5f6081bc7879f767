#include "sinks/kafka/admin/transaction_probe.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fakes/kafka_fixture.h"

namespace walrelay {
namespace {

using std::chrono::milliseconds;
using ::testing::HasSubstr;

class TransactionProbeTest : public testing::MockKafkaFixture {
 protected:
  absl::Status Claim(Micros timeout = testing::kTimeout) {
    return ClaimTransactionalId(config_.kafka, config_.pipeline, "walrelay.orders.doctor", timeout);
  }
};

TEST_F(TransactionProbeTest, IdIsClaimed) {
  EXPECT_THAT(Claim(), IsOk());
  EXPECT_THAT(Claim(), IsOk());
}

TEST_F(TransactionProbeTest, DeniedIdReportsTheRequiredGrant) {
  FailNext(testing::kInitProducerIdRequest,
           {RD_KAFKA_RESP_ERR_TRANSACTIONAL_ID_AUTHORIZATION_FAILED});
  const absl::Status status = Claim();
  EXPECT_THAT(status, HasError(ErrorCode::kTransactionalIdDenied, "walrelay.orders.doctor"));
  EXPECT_THAT(RemedyFor(status), HasSubstr("--transactional-id"));
}

TEST_F(TransactionProbeTest, TimeoutThatBrokersDoNotAcceptIsASetting) {
  FailNext(testing::kInitProducerIdRequest, {RD_KAFKA_RESP_ERR_INVALID_TRANSACTION_TIMEOUT});
  const absl::Status status = Claim();
  EXPECT_THAT(status, HasError(ErrorCode::kProducerSetting, "INVALID_TRANSACTION_TIMEOUT"));
  EXPECT_THAT(RemedyFor(status), HasSubstr("kafka.transaction_timeout"));
}

TEST_F(TransactionProbeTest, RequestsAreNoLongerThanATransaction) {
  config_.kafka.transaction_timeout = std::chrono::seconds(10);  // socket.timeout.ms is 30 s
  EXPECT_THAT(Claim(), IsOk());
}

TEST_F(TransactionProbeTest, NoBrokerIsReportedAsUnreachable) {
  StopBrokers();
  EXPECT_THAT(Claim(milliseconds(500)), HasError(ErrorCode::kKafkaUnreachable, "coordinator"));
}

}  // namespace
}  // namespace walrelay
