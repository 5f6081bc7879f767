#include "kafka/write_probe.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fakes/kafka_fixture.h"

namespace walrelay {
namespace {

using std::chrono::milliseconds;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class WriteProbeTest : public testing::MockKafkaFixture {
 protected:
  absl::StatusOr<WrittenProbe> Write(Micros timeout = testing::kTimeout) {
    return WriteProbe(config_, "orders", timeout);
  }
};

TEST_F(WriteProbeTest, ProbeLeavesOneIdentifiableRecord) {
  CreateTopic("orders");
  EXPECT_EQ(Write().value().offset, 0);
  const auto second = Write();
  ASSERT_THAT(second, IsOk());
  EXPECT_EQ(second->partition, 0);
  EXPECT_EQ(second->offset, 1);
  EXPECT_GT(second->took, Micros(0));
  const auto stored = Stored("orders");
  ASSERT_EQ(stored.size(), 2u);
  EXPECT_EQ(stored[0].key, "walrelay-doctor");
  EXPECT_EQ(stored[0].value, std::nullopt);
}

TEST_F(WriteProbeTest, ProducerIdIsRequestedWithoutARecord) {
  CreateTopic("orders");
  EXPECT_THAT(RequestProducerId(config_, testing::kTimeout), IsOk());
  EXPECT_THAT(StoredKeys("orders"), IsEmpty());
}

TEST_F(WriteProbeTest, DeniedProducerIdReportsTheRequiredGrant) {
  FailNext(testing::kInitProducerIdRequest, {RD_KAFKA_RESP_ERR_CLUSTER_AUTHORIZATION_FAILED});
  const absl::Status status = RequestProducerId(config_, testing::kTimeout);
  EXPECT_THAT(status, HasError(ErrorCode::kTopicDenied, "CLUSTER_AUTHORIZATION_FAILED"));
  EXPECT_THAT(RemedyFor(status), HasSubstr("kafka-acls.sh"));
}

TEST_F(WriteProbeTest, DeniedTopicIsNotReportedAsMissing) {
  RefuseTopic("orders", RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED);
  EXPECT_THAT(Write(), HasError(ErrorCode::kTopicDenied, "orders"));
}

TEST_F(WriteProbeTest, TopicNotCreatedOnDemandIsMissing) {
  SetTopicError("orders", RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART);
  EXPECT_THAT(Write(), HasError(ErrorCode::kTopicUnknown, "orders"));
}

TEST_F(WriteProbeTest, RefusedRecordIsReported) {
  CreateTopic("orders");
  FailNext(testing::kProduceRequest, {RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED});
  EXPECT_THAT(Write(), HasError(ErrorCode::kTopicDenied, "TOPIC_AUTHORIZATION_FAILED"));
  FailNext(testing::kProduceRequest, {RD_KAFKA_RESP_ERR_INVALID_RECORD});
  EXPECT_THAT(Write(), HasError(ErrorCode::kDeliveryRefused, "INVALID_RECORD"));
  EXPECT_THAT(StoredKeys("orders"), IsEmpty());
}

TEST_F(WriteProbeTest, WaitForTheAcknowledgementIsBounded) {
  CreateTopic("orders");
  FailNext(testing::kProduceRequest,
           std::vector<rd_kafka_resp_err_t>(100, RD_KAFKA_RESP_ERR_NOT_ENOUGH_REPLICAS));
  EXPECT_THAT(Write(milliseconds(1500)), HasError(ErrorCode::kKafkaStalled, "orders"));
}

TEST_F(WriteProbeTest, NoBrokerIsReportedAsUnreachable) {
  StopBrokers();
  EXPECT_THAT(RequestProducerId(config_, milliseconds(500)),
              HasError(ErrorCode::kKafkaUnreachable));
}

}  // namespace
}  // namespace walrelay
