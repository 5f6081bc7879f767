// A producer with transactions: what it reports, and when.

#include <gtest/gtest.h>

#include <chrono>

#include "encode/progress_codec.h"
#include "fakes/kafka_fixture.h"
#include "sinks/kafka/admin/progress_topic.h"
#include "sinks/kafka/client/reaper.h"
#include "sinks/kafka/producer/kafka_producer.h"

namespace walrelay {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::kAddPartitionsRequest;
using testing::kEndTxnRequest;
using testing::kInitProducerIdRequest;
using testing::kProduceRequest;
using ::testing::SizeIs;

class KafkaProducerTransactionsTest : public testing::ProducerFixture {
 protected:
  KafkaProducerTransactionsTest() {
    CreateTopic("orders", 2);
    CreateTopic(kProgressTopic);
  }

  void StartAndClaim(const KafkaProducer::Options& options = {}) {
    StartTransactions(options);
    ASSERT_TRUE(PollUntil([&] { return claimed_.has_value(); }));
  }
  void ProduceProgress() {
    Produce({.topic = kProgressTopic, .key = "test", .value = "", .partition = 0},
            DeliveryToken::Progress());
  }
  // -1: none, so that no record of the topic can be stored.
  void SetLeaderOfOrders(int32_t broker) {
    for (const int32_t partition : {0, 1}) {
      rd_kafka_mock_partition_set_leader(cluster_->get(), "orders", partition, broker);
    }
  }
  void CommitAndWait(size_t deliveries) {
    producer_->transactions()->Commit();
    WaitForDeliveries(deliveries);
  }
  // Of all records: they can be read, because the mock cluster has no transactions.
  void WaitForAcknowledgement() {
    const size_t before = delivered_.size();
    EXPECT_TRUE(PollUntil([&] { return StoredKeys("orders").size() == before + 1; }));
  }
  void WaitForTheEnd(size_t failures) {
    ASSERT_TRUE(PollUntil([&] { return failed_.size() >= failures; }));
    EXPECT_FALSE(producer_->FatalError().ok());
    EXPECT_EQ(failed_.size(), failures);
  }
  absl::Status WaitForFatalError() {
    EXPECT_TRUE(PollUntil([&] { return !producer_->FatalError().ok(); }));
    return producer_->FatalError();
  }
};

TEST_F(KafkaProducerTransactionsTest, NothingIsAcceptedBeforeTheClaim) {
  StartTransactions();
  EXPECT_THAT(producer_->Produce({.topic = "orders", .key = "k"}, {1, 1}),
              IsOkAndHolds(Wait::kQueue));
  ASSERT_TRUE(PollUntil([&] { return claimed_.has_value(); }));
  EXPECT_EQ(*claimed_, std::nullopt);
  ProduceKeys({"k"});
}

// librdkafka before 2.13 frees the interceptors of such a client twice.
TEST_F(KafkaProducerTransactionsTest, CertificateThatCannotBeReadIsAnError) {
  config_.kafka.security_protocol = "SSL";
  config_.kafka.ssl_ca_file = "/nonexistent/ca.pem";
  auto conf =
      MakeProducerConf(config_.kafka, config_.pipeline, config_.kafka.max_batch_bytes, "w.test");
  ASSERT_THAT(conf, IsOk());
  EXPECT_THAT(KafkaProducer::Create(*std::move(conf), {}).status(),
              HasError(ErrorCode::kKafkaConfiguration));
}

TEST_F(KafkaProducerTransactionsTest, TheClaimReadsTheProgressRecord) {
  Progress progress{.pipeline = "test", .system_id = "7", .timeline = 1, .frontier = Lsn(0x100)};
  ASSERT_THAT(
      WriteProgress(config_.kafka, config_.pipeline, kProgressTopic, progress, testing::kTimeout),
      IsOk());
  StartAndClaim();
  ASSERT_TRUE(claimed_->has_value());
  EXPECT_EQ((*claimed_)->frontier, Lsn(0x100));
}

TEST_F(KafkaProducerTransactionsTest, DeliveriesAreReportedAfterTheCommitAndProgressLast) {
  StartAndClaim();
  ProduceProgress();
  ProduceKeys({"a", "b"});
  // Until long after the acknowledgements.
  const auto begin = std::chrono::steady_clock::now();
  ASSERT_TRUE(PollUntil(
      [&] { return std::chrono::steady_clock::now() - begin > std::chrono::milliseconds(300); }));
  EXPECT_THAT(delivered_, IsEmpty());
  CommitAndWait(3);
  EXPECT_FALSE(delivered_[0].token.is_progress());
  EXPECT_FALSE(delivered_[1].token.is_progress());
  EXPECT_TRUE(delivered_[2].token.is_progress());
  EXPECT_GE(delivered_[0].latency, std::chrono::milliseconds(300));
  EXPECT_THAT(producer_->FatalError(), IsOk());
}

TEST_F(KafkaProducerTransactionsTest, OneTransactionFollowsTheOther) {
  StartAndClaim();
  for (size_t i = 1; i <= 20; ++i) {
    ProduceKeys({"a"});
    ProduceProgress();
    CommitAndWait(2 * i);
  }
  EXPECT_THAT(producer_->FatalError(), IsOk());
}

TEST_F(KafkaProducerTransactionsTest, NothingIsAcceptedWhileACommitRuns) {
  StartAndClaim();
  ProduceKeys({"a"});
  producer_->transactions()->Commit();
  EXPECT_THAT(producer_->Produce({.topic = "orders", .key = "k"}, {1, 1}),
              IsOkAndHolds(Wait::kQueue));
  WaitForDeliveries(1);
  ProduceKeys({"b"});
}

TEST_F(KafkaProducerTransactionsTest, DetailsAreKeptUntilTheCommit) {
  KafkaProducer::Options options;
  options.delivery_details = true;
  StartAndClaim(options);
  const Header headers[] = {{"name", "value"}, {"null", std::nullopt}};
  Produce({.topic = "orders", .key = "a", .value = "{}", .headers = headers}, {1, 1});
  Produce({.topic = "orders", .value = "{}", .partition = 1}, {1, 2});
  CommitAndWait(2);
  const size_t first = delivered_[0].key ? 0 : 1;
  EXPECT_EQ(delivered_[first].key, "a");
  EXPECT_EQ(delivered_[first].topic, "orders");
  EXPECT_THAT(delivered_[first].headers,
              ElementsAre(std::pair("name", std::optional<std::string>("value")),
                          std::pair("null", std::nullopt)));
  EXPECT_THAT(delivered_[1 - first].headers, IsEmpty());
}

TEST_F(KafkaProducerTransactionsTest, ARefusedRecordNamesTheCauseFirst) {
  StartAndClaim();
  Produce({.topic = "orders", .value = "{}", .partition = 0}, {1, 1});
  WaitForAcknowledgement();
  FailNext(kProduceRequest, {RD_KAFKA_RESP_ERR_INVALID_RECORD, RD_KAFKA_RESP_ERR_INVALID_RECORD});
  Produce({.topic = "orders", .value = "{}", .partition = 0}, {2, 1});
  WaitForTheEnd(2);
  EXPECT_EQ(failed_[0].first, (DeliveryToken{2, 1}));
  EXPECT_THAT(failed_[0].second, HasError(ErrorCode::kDeliveryRefused));
  EXPECT_FALSE(purged_[0]);
  EXPECT_TRUE(purged_[1]);
  EXPECT_THAT(producer_->FatalError(), HasError(ErrorCode::kTransactionAborted));
  EXPECT_THAT(delivered_, IsEmpty());
}

TEST_F(KafkaProducerTransactionsTest, ARefusedPartitionIsTheRecordsError) {
  StartAndClaim();
  FailNext(kAddPartitionsRequest, {RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED});
  // Without a progress record: the refusal may arrive before it.
  ProduceKeys({"a"});
  WaitForTheEnd(1);
  EXPECT_EQ(failed_[0].first, (DeliveryToken{1, 1}));
  EXPECT_THAT(failed_[0].second, HasError(ErrorCode::kTopicDenied));
  EXPECT_THAT(MessageOf(failed_[0].second), HasSubstr("orders"));
  EXPECT_FALSE(purged_[0]);
}

TEST_F(KafkaProducerTransactionsTest, ARefusedPartitionOfTheProgressRecord) {
  StartAndClaim();
  FailNext(kAddPartitionsRequest, {RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED});
  ProduceProgress();
  producer_->transactions()->Commit();
  WaitForTheEnd(1);
  EXPECT_THAT(failed_[0].second, HasError(ErrorCode::kTopicDenied));
  EXPECT_FALSE(purged_[0]);
}

// Of the same request: librdkafka does not say which of them was refused.
TEST_F(KafkaProducerTransactionsTest, ARefusalOfEventsAndProgressIsBlamedOnNeither) {
  StartAndClaim();
  ProduceKeys({"a"});
  ProduceProgress();
  CommitAndWait(2);
  rd_kafka_mock_broker_push_request_error_rtts(cluster_->get(), 1, kAddPartitionsRequest, 1,
                                               RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED, 500);
  ProduceKeys({"b"});
  ProduceProgress();
  producer_->transactions()->Commit();
  WaitForTheEnd(2);
  EXPECT_THAT(purged_, ElementsAre(true, true));
  EXPECT_THAT(failed_[0].second, HasError(ErrorCode::kTransactionAborted));
  EXPECT_THAT(MessageOf(failed_[0].second), HasSubstr("TOPIC_AUTHORIZATION_FAILED"));
}

TEST_F(KafkaProducerTransactionsTest, TheFirstTransactionShowsThatTheProgressTopicIsRefused) {
  StartAndClaim();
  ProduceKeys({"a"});
  ASSERT_TRUE(PollUntil([&] { return StoredKeys("orders").size() == 1; }));
  FailNext(kAddPartitionsRequest, {RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED});
  ProduceProgress();
  producer_->transactions()->Commit();
  WaitForTheEnd(2);
  EXPECT_TRUE(failed_[0].first.is_progress());
  EXPECT_THAT(failed_[0].second, HasError(ErrorCode::kTopicDenied));
  EXPECT_THAT(purged_, ElementsAre(false, true));
}

TEST_F(KafkaProducerTransactionsTest, ProgressIsHeldBackInTheFirstTransactionOnly) {
  StartAndClaim();
  rd_kafka_mock_broker_push_request_error_rtts(cluster_->get(), 1, kProduceRequest, 1,
                                               RD_KAFKA_RESP_ERR_NO_ERROR, 500);
  ProduceKeys({"a"});
  ProduceProgress();
  producer_->transactions()->Commit();
  WaitForDeliveries(2);
  const std::vector<StoredRecord> events = Stored("orders");
  const std::vector<StoredRecord> progress = Stored(kProgressTopic);
  ASSERT_THAT(events, SizeIs(1));
  ASSERT_THAT(progress, SizeIs(1));
  EXPECT_EQ(progress[0].key, "test");
  // librdkafka received it after the first acknowledgement, which took 500 ms.
  EXPECT_GE(*progress[0].timestamp - *events[0].timestamp, std::chrono::milliseconds(500));

  // In the second transaction, it is stored while the event cannot be.
  SetLeaderOfOrders(-1);
  ProduceKeys({"a"});
  ProduceProgress();
  producer_->transactions()->Commit();
  EXPECT_TRUE(PollUntil([&] { return Stored(kProgressTopic).size() == 2; }));
  EXPECT_THAT(delivered_, SizeIs(2));
  SetLeaderOfOrders(1);
  WaitForDeliveries(4);
  EXPECT_THAT(Stored("orders"), SizeIs(2));
}

TEST_F(KafkaProducerTransactionsTest, AProgressRecordThatIsHeldBackFailsWithItsTransaction) {
  StartAndClaim();
  rd_kafka_mock_broker_push_request_error_rtts(cluster_->get(), 1, kAddPartitionsRequest, 1,
                                               RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED, 500);
  ProduceKeys({"a"});
  ProduceProgress();
  producer_->transactions()->Commit();
  WaitForTheEnd(2);
  EXPECT_FALSE(failed_[0].first.is_progress());
  EXPECT_THAT(failed_[0].second, HasError(ErrorCode::kTopicDenied, "orders"));
  EXPECT_THAT(purged_, ElementsAre(false, true));
}

TEST_F(KafkaProducerTransactionsTest, ASealedTransactionWithoutProgressFails) {
  KafkaProducer::Options options;
  options.commit_limit = std::chrono::milliseconds(300);
  StartAndClaim(options);
  ProduceKeys({"a"});
  CommitAndWait(1);
  FailNext(kProduceRequest, std::vector(1000, RD_KAFKA_RESP_ERR_NOT_ENOUGH_REPLICAS));
  ProduceProgress();
  producer_->transactions()->Commit();
  WaitForTheEnd(1);
  EXPECT_TRUE(purged_[0]);
  EXPECT_THAT(failed_[0].second, HasError(ErrorCode::kTransactionAborted, kProgressTopic));
}

TEST_F(KafkaProducerTransactionsTest, ACommitWithoutAnAnswerIsInDoubt) {
  KafkaProducer::Options options;
  options.commit_limit = std::chrono::milliseconds(300);
  StartAndClaim(options);
  ProduceKeys({"a"});
  rd_kafka_mock_broker_push_request_error_rtts(cluster_->get(), 1, kEndTxnRequest, 1,
                                               RD_KAFKA_RESP_ERR_NO_ERROR, 5'000);
  producer_->transactions()->Commit();
  WaitForTheEnd(1);
  EXPECT_THAT(failed_[0].second, HasError(ErrorCode::kCommitInDoubt));
}

// The limit is one of progress: each acknowledgement begins it again.
TEST_F(KafkaProducerTransactionsTest, SlowAcknowledgementsDoNotFail) {
  KafkaProducer::Options options;
  options.commit_limit = std::chrono::milliseconds(1500);
  StartAndClaim(options);
  rd_kafka_mock_broker_push_request_error_rtts(cluster_->get(), 1, kProduceRequest, 2,
                                               RD_KAFKA_RESP_ERR_NO_ERROR, 1000,
                                               RD_KAFKA_RESP_ERR_NO_ERROR, 2000);
  Produce({.topic = "orders", .value = "{}", .partition = 0}, {1, 1});
  Produce({.topic = "orders", .value = "{}", .partition = 1}, {2, 1});
  CommitAndWait(2);
  EXPECT_THAT(producer_->FatalError(), IsOk());
}

TEST_F(KafkaProducerTransactionsTest, AFencedProducerFails) {
  StartAndClaim();
  FailNext(kAddPartitionsRequest, {RD_KAFKA_RESP_ERR_PRODUCER_FENCED});
  ProduceKeys({"a"});
  WaitForTheEnd(1);
  EXPECT_TRUE(purged_[0]);
  EXPECT_THAT(producer_->FatalError(), HasError(ErrorCode::kProducerFenced));
}

TEST_F(KafkaProducerTransactionsTest, AProducerIsFencedByItsSuccessor) {
  StartAndClaim();
  ProduceKeys({"a"});
  FailNext(kEndTxnRequest, {RD_KAFKA_RESP_ERR_INVALID_PRODUCER_EPOCH});
  producer_->transactions()->Commit();
  WaitForTheEnd(1);
  EXPECT_TRUE(purged_[0]);
  EXPECT_THAT(failed_[0].second, HasError(ErrorCode::kProducerFenced));
}

TEST_F(KafkaProducerTransactionsTest, ACommitWhoseAnswerIsLostIsRepeatedAndTheLast) {
  StartAndClaim();
  ProduceKeys({"a"});
  FailNext(kEndTxnRequest, {RD_KAFKA_RESP_ERR__TRANSPORT});
  CommitAndWait(1);
  EXPECT_THAT(WaitForFatalError(), HasError(ErrorCode::kCommitRepeated));
  EXPECT_THAT(failed_, IsEmpty());
  EXPECT_THAT(producer_->Produce({.topic = "orders", .key = "k"}, {1, 1}),
              IsOkAndHolds(Wait::kQueue));
}

TEST_F(KafkaProducerTransactionsTest, ARepeatedCommitIsIgnoredOnlyForTests) {
  KafkaProducer::Options options;
  options.reuse_after_repeated_commit = true;
  StartAndClaim(options);
  ProduceKeys({"a"});
  FailNext(kEndTxnRequest, {RD_KAFKA_RESP_ERR__TRANSPORT});
  CommitAndWait(1);
  ProduceKeys({"b"});
  CommitAndWait(2);
  EXPECT_THAT(producer_->FatalError(), IsOk());
}

TEST_F(KafkaProducerTransactionsTest, AnErrorThatCanBeRetriedDoesNotEndACommit) {
  StartAndClaim();
  ProduceKeys({"a"});
  FailNext(kEndTxnRequest, {RD_KAFKA_RESP_ERR_COORDINATOR_LOAD_IN_PROGRESS});
  CommitAndWait(1);
  EXPECT_THAT(WaitForFatalError(), HasError(ErrorCode::kCommitRepeated));
}

TEST_F(KafkaProducerTransactionsTest, ARejectedEpochIsNotTheRecordsError) {
  StartAndClaim();
  FailNext(kProduceRequest, {RD_KAFKA_RESP_ERR_INVALID_PRODUCER_EPOCH});
  Produce({.topic = "orders", .value = "{}", .partition = 0}, {1, 1});
  WaitForTheEnd(1);
  EXPECT_TRUE(purged_[0]);
  EXPECT_THAT(failed_[0].second, HasError(ErrorCode::kProducerFenced));
}

TEST_F(KafkaProducerTransactionsTest, RefusedPartitionsOfManyRecordsAreTheErrorOfEach) {
  StartAndClaim();
  ProduceKeys({"a"});
  CommitAndWait(1);
  ASSERT_TRUE(PollUntil([&] {
    FailNext(kAddPartitionsRequest, {RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED});
    const auto produced =
        producer_->Produce({.topic = "orders", .value = "{}", .partition = 0}, {2, 1});
    return produced.ok() && *produced == Wait::kNone;
  }));
  EXPECT_THAT(producer_->Produce({.topic = "orders", .value = "{}", .partition = 1}, {3, 1}),
              IsOkAndHolds(Wait::kNone));
  WaitForTheEnd(2);
  EXPECT_THAT(failed_[0].second, HasError(ErrorCode::kTopicDenied));
  EXPECT_THAT(failed_[1].second, HasError(ErrorCode::kTopicDenied));
  EXPECT_THAT(purged_, ElementsAre(false, false));
}

TEST_F(KafkaProducerTransactionsTest, ACommitThatFailsIsInDoubt) {
  StartAndClaim();
  ProduceKeys({"a"});
  FailNext(kEndTxnRequest, {RD_KAFKA_RESP_ERR_INVALID_REQUEST});
  producer_->transactions()->Commit();
  WaitForTheEnd(1);
  EXPECT_TRUE(purged_[0]);
  EXPECT_THAT(failed_[0].second, HasError(ErrorCode::kCommitInDoubt));
}

TEST_F(KafkaProducerTransactionsTest, AClaimThatIsRefused) {
  FailNext(kInitProducerIdRequest, {RD_KAFKA_RESP_ERR_TRANSACTIONAL_ID_AUTHORIZATION_FAILED});
  StartTransactions();
  const absl::Status error = WaitForFatalError();
  EXPECT_THAT(error, HasError(ErrorCode::kTransactionalIdDenied));
  EXPECT_THAT(RemedyFor(error), HasSubstr("kafka-acls.sh"));
}

TEST_F(KafkaProducerTransactionsTest, ATimeoutThatIsRefused) {
  FailNext(kInitProducerIdRequest, {RD_KAFKA_RESP_ERR_INVALID_TRANSACTION_TIMEOUT});
  StartTransactions();
  EXPECT_THAT(WaitForFatalError(), HasError(ErrorCode::kProducerSetting));
}

TEST_F(KafkaProducerTransactionsTest, AClaimIsRepeatedAtOnceWhileAnotherTransactionEnds) {
  FailNext(kInitProducerIdRequest, std::vector(4, RD_KAFKA_RESP_ERR_CONCURRENT_TRANSACTIONS));
  StartAndClaim();  // not after four times 500 ms
  EXPECT_THAT(producer_->FatalError(), IsOk());
}

TEST_F(KafkaProducerTransactionsTest, AClaimThatWaitsForAnotherTransactionIsReported) {
  FailNext(kInitProducerIdRequest, std::vector(100, RD_KAFKA_RESP_ERR_CONCURRENT_TRANSACTIONS));
  StartTransactions();
  ASSERT_TRUE(PollUntil([&] { return !producer_->health().trouble.ok(); }));
  EXPECT_THAT(producer_->health().trouble, HasError(ErrorCode::kTransactionUnended));
}

TEST_F(KafkaProducerTransactionsTest, ARecordThatNobodyCanReadFailsTheClaim) {
  const Header header{"walrelay.format", "1"};
  StartAndClaim();
  Produce({.topic = kProgressTopic,
           .key = "test",
           .value = "no record",
           .headers = {&header, 1},
           .partition = 0},
          DeliveryToken::Progress());
  CommitAndWait(1);
  producer_.reset();
  StartTransactions();
  EXPECT_THAT(WaitForFatalError(), HasError(ErrorCode::kProgressUnreadable));
}

TEST_F(KafkaProducerTransactionsTest, DestructionDoesNotWaitForAClaim) {
  StopBrokers();
  Reaper reaper;
  KafkaProducer::Options options;
  options.reaper = &reaper;
  StartTransactions(options);
  Poll();
  const auto begin = std::chrono::steady_clock::now();
  producer_.reset();
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::milliseconds(100));
  EXPECT_TRUE(reaper.Wait(testing::kTimeout));
}

TEST_F(KafkaProducerTransactionsTest, DestructionDoesNotWaitForACommit) {
  Reaper reaper;
  KafkaProducer::Options options;
  options.reaper = &reaper;
  StartAndClaim(options);
  ProduceKeys({"a"});
  rd_kafka_mock_broker_push_request_error_rtts(cluster_->get(), 1, kEndTxnRequest, 1,
                                               RD_KAFKA_RESP_ERR_NO_ERROR, 10'000);
  producer_->transactions()->Commit();
  WaitForAcknowledgement();
  const auto begin = std::chrono::steady_clock::now();
  producer_.reset();
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::milliseconds(100));
  EXPECT_TRUE(reaper.Wait(testing::kTimeout));
}

}  // namespace
}  // namespace walrelay
