#include "sinks/kafka/admin/record_writer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fakes/kafka_fixture.h"

namespace walrelay {
namespace {

using std::chrono::milliseconds;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class RecordWriterTest : public testing::MockKafkaFixture {
 protected:
  absl::StatusOr<WrittenRecord> Write(Micros timeout = testing::kTimeout) {
    return WriteProbe(config_.kafka, config_.pipeline, "orders", timeout);
  }
};

TEST_F(RecordWriterTest, ProbeLeavesOneIdentifiableRecord) {
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

TEST_F(RecordWriterTest, RecordIsStoredWhereItSays) {
  CreateTopic("orders", 3);
  const Header header{"name", "content"};
  const auto written = WriteRecord(
      config_.kafka, config_.pipeline,
      {.topic = "orders", .key = "k", .value = "v", .headers = {&header, 1}, .partition = 2},
      testing::kTimeout);
  ASSERT_THAT(written, IsOk());
  EXPECT_EQ(written->partition, 2);
  const auto stored = Stored("orders");
  ASSERT_EQ(stored.size(), 1u);
  EXPECT_EQ(stored[0].partition, 2);
  EXPECT_EQ(stored[0].key, "k");
  EXPECT_EQ(stored[0].value, "v");
  ASSERT_EQ(stored[0].headers.size(), 1u);
  EXPECT_EQ(stored[0].headers[0].first, "name");
}

TEST_F(RecordWriterTest, ProducerIdIsRequestedWithoutARecord) {
  CreateTopic("orders");
  EXPECT_THAT(RequestProducerId(config_.kafka, config_.pipeline, testing::kTimeout), IsOk());
  EXPECT_THAT(StoredKeys("orders"), IsEmpty());
}

TEST_F(RecordWriterTest, DeniedProducerIdReportsTheRequiredGrant) {
  FailNext(testing::kInitProducerIdRequest, {RD_KAFKA_RESP_ERR_CLUSTER_AUTHORIZATION_FAILED});
  const absl::Status status = RequestProducerId(config_.kafka, config_.pipeline, testing::kTimeout);
  EXPECT_THAT(status, HasError(ErrorCode::kTopicDenied, "CLUSTER_AUTHORIZATION_FAILED"));
  EXPECT_THAT(RemedyFor(status), HasSubstr("kafka-acls.sh"));
}

TEST_F(RecordWriterTest, DeniedTopicIsNotReportedAsMissing) {
  RefuseTopic("orders", RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED);
  EXPECT_THAT(Write(), HasError(ErrorCode::kTopicDenied, "orders"));
}

TEST_F(RecordWriterTest, TopicNotCreatedOnDemandIsMissing) {
  SetTopicError("orders", RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART);
  EXPECT_THAT(Write(), HasError(ErrorCode::kTopicUnknown, "orders"));
}

TEST_F(RecordWriterTest, RefusedRecordIsReported) {
  CreateTopic("orders");
  FailNext(testing::kProduceRequest, {RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED});
  EXPECT_THAT(Write(), HasError(ErrorCode::kTopicDenied, "TOPIC_AUTHORIZATION_FAILED"));
  FailNext(testing::kProduceRequest, {RD_KAFKA_RESP_ERR_INVALID_RECORD});
  EXPECT_THAT(Write(), HasError(ErrorCode::kTopicRefuses, "INVALID_RECORD"));
  EXPECT_THAT(StoredKeys("orders"), IsEmpty());
}

TEST_F(RecordWriterTest, WaitForTheAcknowledgementIsBounded) {
  CreateTopic("orders");
  FailNext(testing::kProduceRequest,
           std::vector<rd_kafka_resp_err_t>(100, RD_KAFKA_RESP_ERR_NOT_ENOUGH_REPLICAS));
  EXPECT_THAT(Write(milliseconds(1500)), HasError(ErrorCode::kKafkaStalled, "orders"));
}

TEST_F(RecordWriterTest, NoBrokerIsReportedAsUnreachable) {
  StopBrokers();
  EXPECT_THAT(RequestProducerId(config_.kafka, config_.pipeline, milliseconds(500)),
              HasError(ErrorCode::kKafkaUnreachable));
}

}  // namespace
}  // namespace walrelay
