#include "sinks/kafka/client/delivery_error.h"

#include <gtest/gtest.h>

#include "fakes/status_matchers.h"

namespace walrelay {
namespace {

TEST(DeliveryErrorTest, CauseDecidesTheCode) {
  const std::pair<rd_kafka_resp_err_t, ErrorCode> kCodes[] = {
      {RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART, ErrorCode::kTopicUnknown},
      {RD_KAFKA_RESP_ERR__UNKNOWN_TOPIC, ErrorCode::kTopicUnknown},
      {RD_KAFKA_RESP_ERR__UNKNOWN_PARTITION, ErrorCode::kTopicUnknown},
      {RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED, ErrorCode::kTopicDenied},
      {RD_KAFKA_RESP_ERR_CLUSTER_AUTHORIZATION_FAILED, ErrorCode::kTopicDenied},
      {RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE, ErrorCode::kBatchTooLarge},
      {RD_KAFKA_RESP_ERR_RECORD_LIST_TOO_LARGE, ErrorCode::kBatchTooLarge},
      {RD_KAFKA_RESP_ERR_INVALID_RECORD, ErrorCode::kTopicRefuses},
      {RD_KAFKA_RESP_ERR_INVALID_TIMESTAMP, ErrorCode::kRecordTimeRefused},
      {RD_KAFKA_RESP_ERR_INVALID_MSG, ErrorCode::kTopicRefuses},
      {RD_KAFKA_RESP_ERR_POLICY_VIOLATION, ErrorCode::kTopicRefuses},
      {RD_KAFKA_RESP_ERR_TOPIC_EXCEPTION, ErrorCode::kTopicRefuses},
      {RD_KAFKA_RESP_ERR_UNSUPPORTED_COMPRESSION_TYPE, ErrorCode::kProducerSetting},
      {RD_KAFKA_RESP_ERR_UNKNOWN, ErrorCode::kProducerFailed},
      {RD_KAFKA_RESP_ERR__MSG_TIMED_OUT, ErrorCode::kProducerFailed},
      {RD_KAFKA_RESP_ERR__PURGE_QUEUE, ErrorCode::kProducerFailed},
      {RD_KAFKA_RESP_ERR_OUT_OF_ORDER_SEQUENCE_NUMBER, ErrorCode::kProducerFailed}};
  for (const auto& [error, code] : kCodes) {
    EXPECT_THAT(DeliveryError(error, "orders", {}), HasError(code, "orders: "))
        << rd_kafka_err2name(error);
  }
}

TEST(DeliveryErrorTest, MessageContainsTheErrorNameAndTheDetail) {
  EXPECT_EQ(MessageOf(DeliveryError(RD_KAFKA_RESP_ERR_INVALID_RECORD, "orders", "no key")),
            "orders: Broker: Broker failed to validate record (INVALID_RECORD); no key");
}

absl::Status Refused(rd_kafka_resp_err_t error, bool has_key) {
  return RefusedRecordError(error, "orders", has_key);
}

// A validation of the topic would refuse the next records as well; a missing key is the record's.
TEST(RefusedRecordErrorTest, OnlyAMissingKeyIsTheFaultOfTheRecord) {
  EXPECT_THAT(Refused(RD_KAFKA_RESP_ERR_INVALID_RECORD, false),
              HasError(ErrorCode::kDeliveryRefused, "no key"));
  EXPECT_THAT(Refused(RD_KAFKA_RESP_ERR_INVALID_RECORD, true), HasError(ErrorCode::kTopicRefuses));
  for (const rd_kafka_resp_err_t error :
       {RD_KAFKA_RESP_ERR_POLICY_VIOLATION, RD_KAFKA_RESP_ERR_TOPIC_EXCEPTION,
        RD_KAFKA_RESP_ERR_INVALID_MSG}) {
    EXPECT_THAT(Refused(error, false), HasError(ErrorCode::kTopicRefuses)) << error;
  }
  EXPECT_THAT(Refused(RD_KAFKA_RESP_ERR_INVALID_TIMESTAMP, false),
              HasError(ErrorCode::kRecordTimeRefused));
}

TEST(DeliveryErrorTest, TextOfBrokersAndRowsIsEscapedAndTruncated) {
  const absl::Status error =
      DeliveryError(RD_KAFKA_RESP_ERR_UNKNOWN, "a\nb", std::string(10'000, 'x') + "\x1b[2J");
  EXPECT_THAT(error, HasError(ErrorCode::kProducerFailed, "a\\x0ab: "));
  EXPECT_LT(MessageOf(error).size(), 500u);
}

TEST(DeliveryErrorTest, PurgedRecordsWereNotRefused) {
  EXPECT_TRUE(IsPurged(RD_KAFKA_RESP_ERR__PURGE_QUEUE));
  EXPECT_TRUE(IsPurged(RD_KAFKA_RESP_ERR__PURGE_INFLIGHT));
  EXPECT_FALSE(IsPurged(RD_KAFKA_RESP_ERR_INVALID_RECORD));
  EXPECT_FALSE(IsPurged(RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE));
}

TEST(TopicErrorTest, CauseDecidesTheCode) {
  const std::pair<rd_kafka_resp_err_t, ErrorCode> kCodes[] = {
      {RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART, ErrorCode::kTopicUnknown},
      {RD_KAFKA_RESP_ERR__UNKNOWN_TOPIC, ErrorCode::kTopicUnknown},
      {RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED, ErrorCode::kTopicDenied},
      {RD_KAFKA_RESP_ERR_TOPIC_EXCEPTION, ErrorCode::kTopicInvalid},
      {RD_KAFKA_RESP_ERR__TRANSPORT, ErrorCode::kKafkaUnreachable}};
  for (const auto& [error, code] : kCodes) {
    EXPECT_THAT(TopicError(error, "orders"), HasError(code, "orders: ")) << error;
  }
}

TEST(ClientErrorTest, RefusedLoginsAreReported) {
  for (const rd_kafka_resp_err_t error : {RD_KAFKA_RESP_ERR__AUTHENTICATION, RD_KAFKA_RESP_ERR__SSL,
                                          RD_KAFKA_RESP_ERR_SASL_AUTHENTICATION_FAILED}) {
    EXPECT_THAT(ClientError(error, "bad password"),
                HasError(ErrorCode::kKafkaLogin, "bad password"));
  }
}

TEST(ClientErrorTest, OtherErrorsMeanAnUnreachableBroker) {
  EXPECT_THAT(ClientError(RD_KAFKA_RESP_ERR__TRANSPORT, "refused"),
              HasError(ErrorCode::kKafkaUnreachable, "refused"));
  EXPECT_THAT(ClientError(RD_KAFKA_RESP_ERR__ALL_BROKERS_DOWN, {}),
              HasError(ErrorCode::kKafkaUnreachable, "_ALL_BROKERS_DOWN"));
}

// None of these needs an operator: the client recovers, or the relay creates a new one.
TEST(ClientErrorTest, ClientErrorsAreRetried) {
  EXPECT_EQ(ReactionTo(ClientError(RD_KAFKA_RESP_ERR__TRANSPORT, "")), Reaction::kRetry);
  EXPECT_EQ(ReactionTo(ClientError(RD_KAFKA_RESP_ERR__AUTHENTICATION, "")), Reaction::kRetry);
  EXPECT_EQ(ReactionTo(DeliveryError(RD_KAFKA_RESP_ERR_UNKNOWN, "t", "")), Reaction::kRetry);
}

}  // namespace
}  // namespace walrelay
