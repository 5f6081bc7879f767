// How the producer handles errors: errors of topics, transient errors, and errors that end it.

#include <gtest/gtest.h>

#include "fakes/kafka_fixture.h"
#include "sinks/kafka/producer/kafka_producer.h"
#include "walrelay/config.h"

namespace walrelay {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::kInitProducerIdRequest;
using testing::kProduceRequest;

class KafkaProducerErrorsTest : public testing::ProducerFixture {
 protected:
  // A producer that has delivered the record "first" to "orders".
  void StartAndDeliver() {
    CreateTopic("orders");
    Start();
    ProduceKeys({"first"});
    WaitForDeliveries(1);
  }
  // Makes the next batch fail with `error`, and the batches after it with a missing predecessor, as
  // a broker that checks sequences does.
  void RefuseNext(rd_kafka_resp_err_t error) {
    std::vector<rd_kafka_resp_err_t> errors(10, RD_KAFKA_RESP_ERR_OUT_OF_ORDER_SEQUENCE_NUMBER);
    errors.front() = error;
    FailNext(kProduceRequest, errors);
  }
  void WaitForTheEnd() {
    // The report of the refused record arrives with the fatal error or shortly after it.
    ASSERT_TRUE(PollUntil([&] { return !producer_->FatalError().ok() && !failed_.empty(); }));
  }
  // A producer that failed because the record "refused" was refused.
  void StartAndRefuse(rd_kafka_resp_err_t error) {
    StartAndDeliver();
    RefuseNext(error);
    ProduceKeys({"refused"});
    WaitForTheEnd();
  }
  void WaitForTrouble() {
    ASSERT_TRUE(PollUntil([&] { return !producer_->health().trouble.ok(); }));
  }
};

// An error that ends: the mock then has the topic with its partitions, and sends them with the
// error, too. Brokers do not, and some versions of librdkafka crash (issue 4907).
class TopicErrorThatEndsTest : public KafkaProducerErrorsTest {
 protected:
  void SetUp() override {
    if (rd_kafka_version() >= 0x02040000 && rd_kafka_version() < 0x020a0000) {
      GTEST_SKIP() << "librdkafka " << rd_kafka_version_str() << " crashes on the mock's response";
    }
  }
};

// --- topics ---

TEST_F(KafkaProducerErrorsTest, UnknownTopicIsReportedOnceAndThenRequestedAgain) {
  SetTopicError("orders", RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART);
  Start();
  const Record record{.topic = "orders", .key = "k"};
  EXPECT_THAT(producer_->Produce(record, {1, 1}), IsOkAndHolds(Wait::kTopic));
  EXPECT_THAT(Offer(record), HasError(ErrorCode::kTopicUnknown, "orders"));
  EXPECT_THAT(producer_->Produce(record, {1, 1}), IsOkAndHolds(Wait::kTopic));
  EXPECT_THAT(producer_->FatalError(), IsOk());
  SetTopicError("orders", RD_KAFKA_RESP_ERR_NO_ERROR);
  Produce(record);
  WaitForDeliveries(1);
}

TEST_F(KafkaProducerErrorsTest, UnknownTopicIsReportedWithTheCommandThatCreatesIt) {
  SetTopicError("orders", RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART);
  KafkaProducer::Options options;
  options.topics = {.create = CreateTopics::kCheck,
                    .rules = {{.match = "ord*", .partitions = 6, .replication_factor = 3}}};
  Start(options);
  const auto outcome = Offer({.topic = "orders", .key = "k"});
  ASSERT_THAT(outcome, HasError(ErrorCode::kTopicUnknown, "orders"));
  EXPECT_THAT(RemedyFor(outcome.status()),
              AllOf(HasSubstr("kafka-topics.sh --bootstrap-server BROKER --create --topic orders "
                              "--partitions 6 --replication-factor 3;"),
                    HasSubstr("[kafka.topics]")));
  SetTopicError("orders", RD_KAFKA_RESP_ERR_NO_ERROR);
  Produce({.topic = "orders", .key = "k"});
  WaitForDeliveries(1);
}

TEST_F(KafkaProducerErrorsTest, DeniedTopicThatWouldBeCreatedNamesTheMissingRights) {
  RefuseTopic("orders", RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED);
  KafkaProducer::Options options;
  options.topics.create = CreateTopics::kCreate;
  Start(options);
  const auto outcome = Offer({.topic = "orders", .key = "k"});
  ASSERT_THAT(outcome, HasError(ErrorCode::kTopicDenied, "orders"));
  EXPECT_THAT(RemedyFor(outcome.status()), HasSubstr("--operation Create"));
}

TEST_F(KafkaProducerErrorsTest, TopicCreatedDuringItsLookupIsNoError) {
  SetTopicError("orders", RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART);
  Start();
  const Record record{.topic = "orders", .key = "k"};
  EXPECT_THAT(producer_->Produce(record, {1, 1}), IsOkAndHolds(Wait::kTopic));
  SetTopicError("orders", RD_KAFKA_RESP_ERR_NO_ERROR);
  Produce(record);
  WaitForDeliveries(1);
}

TEST_F(TopicErrorThatEndsTest, TopicWithoutALeaderIsPending) {
  SetTopicError("orders", RD_KAFKA_RESP_ERR_LEADER_NOT_AVAILABLE);
  Start();
  const Record record{.topic = "orders", .key = "k"};
  for (int i = 0; i < 10; ++i) {
    Poll();
    EXPECT_THAT(producer_->Produce(record, {1, 1}), IsOkAndHolds(Wait::kTopic));
  }
  SetTopicError("orders", RD_KAFKA_RESP_ERR_NO_ERROR);
  Produce(record);
  WaitForDeliveries(1);
}

TEST_F(KafkaProducerErrorsTest, DeniedTopicIsReportedWithoutWaiting) {
  RefuseTopic("orders", RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED);
  Start();
  EXPECT_THAT(Offer({.topic = "orders"}), HasError(ErrorCode::kTopicDenied, "orders"));
  EXPECT_THAT(producer_->FatalError(), IsOk());
}

TEST_F(TopicErrorThatEndsTest, TopicThatWasDeniedIsRequestedAgain) {
  SetTopicError("orders", RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED);
  Start();
  EXPECT_THAT(Offer({.topic = "orders"}), HasError(ErrorCode::kTopicDenied, "orders"));
  SetTopicError("orders", RD_KAFKA_RESP_ERR_NO_ERROR);
  // Reporting the error starts a new request, whose result may still be the old one.
  ASSERT_TRUE(PollUntil([&] {
    const auto outcome = producer_->Produce({.topic = "orders"}, {1, 1});
    return outcome.ok() && *outcome == Wait::kNone;
  }));
  WaitForDeliveries(1);
}

TEST_F(KafkaProducerErrorsTest, TopicNameThatTheBrokerRefusesIsReported) {
  RefuseTopic("orders", RD_KAFKA_RESP_ERR_TOPIC_EXCEPTION);
  Start();
  EXPECT_THAT(Offer({.topic = "orders"}), HasError(ErrorCode::kTopicInvalid, "orders"));
}

TEST_F(KafkaProducerErrorsTest, TopicsAreLookedUpIndependently) {
  RefuseTopic("bad", RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED);
  CreateTopic("orders");
  Start();
  EXPECT_THAT(Offer({.topic = "bad"}), HasError(ErrorCode::kTopicDenied));
  Produce({.topic = "orders", .key = "k"});
  WaitForDeliveries(1);
}

class AnnouncedTopicsTest : public KafkaProducerErrorsTest,
                            public ::testing::WithParamInterface<CreateTopics> {};

TEST_P(AnnouncedTopicsTest, AreLookedUpTogether) {
  RefuseTopic("bad", RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED);
  std::vector<std::string> topics;
  for (int i = 0; i < 20; ++i) {
    topics.push_back("t" + std::to_string(i));
    CreateTopic(topics.back());
  }
  KafkaProducer::Options options;
  options.topics.create = GetParam();
  Start(options);
  EXPECT_TRUE(producer_->Announce("bad"));
  for (const std::string& topic : topics) {
    (void)producer_->Announce(topic);  // on demand, a few at a time
  }
  for (const std::string& topic : topics) {
    Produce({.topic = topic, .key = "k"});
  }
  WaitForDeliveries(topics.size());
  EXPECT_THAT(Offer({.topic = "bad", .key = "k"}), HasError(ErrorCode::kTopicDenied, "bad"));
}

INSTANTIATE_TEST_SUITE_P(Kafka, AnnouncedTopicsTest,
                         ::testing::Values(CreateTopics::kNever, CreateTopics::kCheck,
                                           CreateTopics::kCreate));

TEST_F(KafkaProducerErrorsTest, AFewTopicsAreCreatedOnDemandAtATime) {
  std::vector<std::string> topics;
  for (int i = 0; i < 17; ++i) {
    topics.push_back("t" + std::to_string(i));
    CreateTopic(topics.back());
  }
  StopBrokers();
  Start();
  for (int i = 0; i < 16; ++i) {
    EXPECT_TRUE(producer_->Announce(topics[static_cast<size_t>(i)]));
  }
  EXPECT_FALSE(producer_->Announce(topics.back()));
  EXPECT_TRUE(producer_->Announce(topics.front()));  // it is no new one
  StartBrokers();
  ASSERT_TRUE(PollUntil([&] { return producer_->Announce(topics.back()); }));
}

TEST_F(KafkaProducerErrorsTest, TopicsThatNoBrokerCreatesAreAllLookedUpAtOnce) {
  StopBrokers();
  KafkaProducer::Options options;
  options.topics.create = CreateTopics::kCheck;
  Start(options);
  for (int i = 0; i < 500; ++i) {
    EXPECT_TRUE(producer_->Announce("t" + std::to_string(i)));
  }
}

// The cause may have ended between the announcement and the record.
TEST_F(TopicErrorThatEndsTest, ErrorOfAnAnnouncedTopicIsNotReturnedToALaterRecord) {
  SetTopicError("bad", RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED);
  CreateTopic("orders");
  KafkaProducer::Options options;
  options.topics.create = CreateTopics::kCreate;
  Start(options);
  EXPECT_TRUE(producer_->Announce("bad"));
  Produce({.topic = "orders", .key = "k"});  // requested after the other topic, and answered
  WaitForDeliveries(1);
  SetTopicError("bad", RD_KAFKA_RESP_ERR_NO_ERROR);
  Produce({.topic = "bad", .key = "k"});
  WaitForDeliveries(2);
}

TEST_F(KafkaProducerErrorsTest, TopicIsPendingWhileNoBrokerAnswers) {
  CreateTopic("orders");
  StopBrokers();
  Start();
  const Record record{.topic = "orders", .key = "k"};
  EXPECT_THAT(producer_->Produce(record, {1, 1}), IsOkAndHolds(Wait::kTopic));
  WaitForTrouble();
  EXPECT_THAT(producer_->Produce(record, {1, 1}), IsOkAndHolds(Wait::kTopic));
  StartBrokers();
  Produce(record);
  WaitForDeliveries(1);
}

// --- transient errors ---

struct NamedError {
  const char* name;
  rd_kafka_resp_err_t error;
};

std::string NameOf(const ::testing::TestParamInfo<NamedError>& info) {
  return info.param.name;
}

class PassingErrorTest : public KafkaProducerErrorsTest,
                         public ::testing::WithParamInterface<NamedError> {};

// One request at a time: a broker refuses the batches after a failed one. The mock accepts them,
// and librdkafka then rightly concludes that the first is stored too.
TEST_P(PassingErrorTest, IsRetried) {
  StartAndDeliver();
  FailNext(kProduceRequest, {GetParam().error, GetParam().error});
  ProduceKeys({"a"});
  WaitForDeliveries(2);
  ProduceKeys({"b"});
  WaitForDeliveries(3);
  EXPECT_THAT(DeliveredKeys(), ElementsAre("first", "a", "b"));
  EXPECT_EQ(StoredKeys("orders"), DeliveredKeys());
  EXPECT_THAT(producer_->FatalError(), IsOk());
}

INSTANTIATE_TEST_SUITE_P(
    Kafka, PassingErrorTest,
    ::testing::Values(NamedError{"NotLeader", RD_KAFKA_RESP_ERR_NOT_LEADER_FOR_PARTITION},
                      NamedError{"UnknownPartition", RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART},
                      NamedError{"NotEnoughReplicas", RD_KAFKA_RESP_ERR_NOT_ENOUGH_REPLICAS},
                      NamedError{"RequestTimedOut", RD_KAFKA_RESP_ERR_REQUEST_TIMED_OUT},
                      NamedError{"Storage", RD_KAFKA_RESP_ERR_KAFKA_STORAGE_ERROR},
                      NamedError{"ConnectionCut", RD_KAFKA_RESP_ERR__TRANSPORT}),
    NameOf);

TEST_F(KafkaProducerErrorsTest, ReturningBrokersReceiveEverythingInOrder) {
  StartAndDeliver();
  StopBrokers();
  ProduceKeys({"a", "b", "c"});
  WaitForTrouble();
  EXPECT_THAT(producer_->health().trouble, HasError(ErrorCode::kKafkaUnreachable));
  EXPECT_THAT(producer_->FatalError(), IsOk());
  StartBrokers();
  WaitForDeliveries(4);
  EXPECT_THAT(StoredKeys("orders"), ElementsAre("first", "a", "b", "c"));
}

TEST_F(KafkaProducerErrorsTest, TroubleEndsWithTheNextDelivery) {
  StartAndDeliver();
  EXPECT_THAT(producer_->health().trouble, IsOk());
  StopBrokers();
  WaitForTrouble();
  ProduceKeys({"a"});
  StartBrokers();
  WaitForDeliveries(2);
  EXPECT_THAT(producer_->health().trouble, IsOk());
}

// With two batches in flight the first would be lost: the mock stores the second, like a broker
// that does not know the producer yet, and librdkafka then considers the first stored too.
TEST_P(PassingErrorTest, OnTheFirstBatchLosesNothing) {
  CreateTopic("orders");
  FailNext(kProduceRequest, {GetParam().error});
  Start();
  ProduceKeys({"a", "b", "c"});
  WaitForDeliveries(3);
  EXPECT_THAT(StoredKeys("orders"), ElementsAre("a", "b", "c"));
}

// --- errors that end the producer ---

class PermanentErrorTest : public KafkaProducerErrorsTest,
                           public ::testing::WithParamInterface<NamedError> {};

TEST_P(PermanentErrorTest, EndsTheProducerAndNoLaterRecordIsDelivered) {
  StartAndDeliver();
  RefuseNext(GetParam().error);
  ProduceKeys({"refused"});
  (void)Offer({.topic = "orders", .key = "behind"});  // accepted or not: it may have failed
  (void)Offer({.topic = "orders", .key = "far behind"});
  WaitForTheEnd();
  EXPECT_THAT(producer_->FatalError(), HasError(ErrorCode::kProducerFailed));
  EXPECT_FALSE(failed_.empty());
  EXPECT_THAT(DeliveredKeys(), ElementsAre("first"));
  producer_.reset();
  EXPECT_THAT(StoredKeys("orders"), ElementsAre("first"));
}

INSTANTIATE_TEST_SUITE_P(
    Kafka, PermanentErrorTest,
    ::testing::Values(NamedError{"SizeTooLarge", RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE},
                      NamedError{"TopicDenied", RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED},
                      NamedError{"InvalidRecord", RD_KAFKA_RESP_ERR_INVALID_RECORD},
                      NamedError{"PolicyViolation", RD_KAFKA_RESP_ERR_POLICY_VIOLATION},
                      NamedError{"Unknown", RD_KAFKA_RESP_ERR_UNKNOWN}),
    NameOf);

TEST_F(KafkaProducerErrorsTest, ReportOfARefusedRecordNamesTheCause) {
  const std::pair<rd_kafka_resp_err_t, ErrorCode> kCauses[] = {
      {RD_KAFKA_RESP_ERR_INVALID_RECORD, ErrorCode::kTopicRefuses},
      {RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE, ErrorCode::kBatchTooLarge},
      {RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED, ErrorCode::kTopicDenied}};
  for (const auto& [error, code] : kCauses) {
    failed_.clear();
    delivered_.clear();
    StartAndRefuse(error);
    ASSERT_EQ(failed_.size(), 1u);
    EXPECT_THAT(failed_[0].second, HasError(code, "orders"));
    ClearErrors(kProduceRequest);
  }
}

TEST_F(KafkaProducerErrorsTest, ReportOfARefusedRecordCarriesItsToken) {
  StartAndDeliver();
  RefuseNext(RD_KAFKA_RESP_ERR_INVALID_RECORD);
  Produce({.topic = "orders", .key = "refused"}, {7, 77});
  WaitForTheEnd();
  ASSERT_EQ(failed_.size(), 1u);
  EXPECT_EQ(failed_[0].first, (DeliveryToken{7, 77}));
}

TEST_F(KafkaProducerErrorsTest, FailedProducerAcceptsNoRecords) {
  StartAndRefuse(RD_KAFKA_RESP_ERR_INVALID_RECORD);
  ClearErrors(kProduceRequest);
  const auto outcome = producer_->Produce({.topic = "orders", .key = "late"}, {9, 1});
  EXPECT_FALSE(outcome.ok() && *outcome == Wait::kNone);
  EXPECT_THAT(StoredKeys("orders"), ElementsAre("first"));
}

TEST_F(KafkaProducerErrorsTest, NextProducerDeliversTheRefusedRecord) {
  StartAndRefuse(RD_KAFKA_RESP_ERR_INVALID_RECORD);
  ClearErrors(kProduceRequest);
  failed_.clear();
  Start();
  EXPECT_THAT(producer_->FatalError(), IsOk());
  ProduceKeys({"refused", "behind"});
  WaitForDeliveries(3);
  EXPECT_THAT(StoredKeys("orders"), ElementsAre("first", "refused", "behind"));
}

TEST_F(KafkaProducerErrorsTest, LostSequenceEndsTheProducer) {
  StartAndRefuse(RD_KAFKA_RESP_ERR_OUT_OF_ORDER_SEQUENCE_NUMBER);
  EXPECT_THAT(producer_->FatalError(), HasError(ErrorCode::kProducerFailed));
  ASSERT_FALSE(failed_.empty());
}

TEST_F(KafkaProducerErrorsTest, DeniedProducerIdEndsTheProducerWithItsCause) {
  CreateTopic("orders");
  FailNext(kInitProducerIdRequest, {RD_KAFKA_RESP_ERR_CLUSTER_AUTHORIZATION_FAILED});
  Start();
  (void)Offer({.topic = "orders", .key = "k"});  // accepted or not: it may have failed
  ASSERT_TRUE(PollUntil([&] { return !producer_->FatalError().ok(); }));
  EXPECT_THAT(producer_->FatalError(),
              HasError(ErrorCode::kProducerFailed, "CLUSTER_AUTHORIZATION_FAILED"));
}

TEST_F(KafkaProducerErrorsTest, ProducerIdRequestIsRetried) {
  CreateTopic("orders");
  FailNext(kInitProducerIdRequest, {RD_KAFKA_RESP_ERR_COORDINATOR_NOT_AVAILABLE,
                                    RD_KAFKA_RESP_ERR_COORDINATOR_LOAD_IN_PROGRESS});
  Start();
  ProduceKeys({"a", "b"});
  WaitForDeliveries(2);
  EXPECT_THAT(producer_->FatalError(), IsOk());
}

}  // namespace
}  // namespace walrelay
