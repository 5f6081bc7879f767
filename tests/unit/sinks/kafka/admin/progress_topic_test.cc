// The mock cluster neither creates topics by request nor has settings: those parts of reading are
// covered by tests/integration.

#include "sinks/kafka/admin/progress_topic.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/stop_request.h"
#include "encode/progress_codec.h"
#include "fakes/kafka_fixture.h"

namespace walrelay {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::kTimeout;
using ::testing::Pair;

constexpr char kTopic[] = "walrelay.progress.orders";
constexpr int16_t kFetchRequest = 1;
constexpr int16_t kListOffsetsRequest = 2;
constexpr int16_t kFindCoordinatorRequest = 10;

Progress At(uint64_t frontier, uint64_t generation = 0) {
  return {.pipeline = "orders",
          .timeline = 1,
          .generation = generation,
          .frontier = Lsn(frontier),
          .run_id = "run"};
}

class ProgressTopicTest : public testing::ProducerFixture {
 protected:
  explicit ProgressTopicTest(int brokers = 1) : ProducerFixture(brokers) {}
  ~ProgressTopicTest() override { EXPECT_TRUE(reaper_.Wait(kTimeout)); }

  absl::StatusOr<ProgressReading> Read(Micros timeout = kTimeout) {
    return KafkaProgressTopic(config_.kafka, stop_.fd(), {.reaper = &reaper_, .patience = timeout})
        .Read({.topic = kTopic, .pipeline = "orders"});
  }
  // The frontier of the record; 0/0 if the topic has none.
  Lsn Frontier() {
    const auto reading = Read();
    EXPECT_THAT(reading, IsOk());
    return reading.ok() && reading->record ? reading->record->frontier : Lsn();
  }
  // Creates the topic with these values.
  void Store(const std::vector<std::optional<std::string>>& values) {
    CreateTopic(kTopic);
    Start();
    for (const auto& value : values) {
      Add("orders", value);
    }
    WaitForDeliveries(values.size());
  }
  void Add(std::string_view key, const std::optional<std::string>& value,
           std::string_view header = "walrelay.format") {
    const Header format{header, "1"};
    Produce({.topic = kTopic, .key = key, .value = value, .headers = {&format, 1}});
  }
  absl::Status Write(const Progress& progress, Micros timeout = kTimeout) {
    return WriteProgress(config_.kafka, config_.pipeline, kTopic, progress, timeout);
  }

  StopRequest stop_;
  Reaper reaper_;
};

TEST_F(ProgressTopicTest, EmptyTopicHasNoRecord) {
  CreateTopic(kTopic);
  const auto reading = Read();
  ASSERT_THAT(reading, IsOk());
  EXPECT_FALSE(reading->record.has_value());
  EXPECT_TRUE(reading->others.empty());
  EXPECT_EQ(reading->foreign, 0u);
}

TEST_F(ProgressTopicTest, WrittenRecordIsRead) {
  CreateTopic(kTopic);
  EXPECT_THAT(Write(At(7)), IsOk());
  const auto reading = Read();
  ASSERT_THAT(reading, IsOk());
  ASSERT_TRUE(reading->record.has_value());
  EXPECT_EQ(reading->record->pipeline, "orders");
  EXPECT_EQ(reading->record->run_id, "run");
  EXPECT_EQ(reading->record->frontier, Lsn(7));
  EXPECT_NE(reading->cluster_id, "");
  const auto stored = Stored(kTopic);
  ASSERT_EQ(stored.size(), 1u);
  EXPECT_EQ(stored[0].key, "orders");
  EXPECT_THAT(stored[0].headers, ElementsAre(Pair("walrelay.format", "1")));
}

// A relay that was replaced may write its last version late.
TEST_F(ProgressTopicTest, GreatestFrontierCountsAndNotTheLastOne) {
  Store({EncodeProgress(At(5)), EncodeProgress(At(9)), EncodeProgress(At(7))});
  EXPECT_EQ(Frontier(), Lsn(9));
}

TEST_F(ProgressTopicTest, GreaterGenerationOutweighsFrontier) {
  Store({EncodeProgress(At(9, 1)), EncodeProgress(At(3, 2)), EncodeProgress(At(10, 1))});
  EXPECT_EQ(Frontier(), Lsn(3));
}

TEST_F(ProgressTopicTest, LastOfEqualVersionsCounts) {
  Progress second = At(9);
  second.run_id = "second";
  Store({EncodeProgress(At(9)), EncodeProgress(second)});
  EXPECT_EQ(Read()->record->run_id, "second");
}

TEST_F(ProgressTopicTest, TombstonesAreIgnored) {
  Store({EncodeProgress(At(5)), std::nullopt});
  EXPECT_EQ(Frontier(), Lsn(5));
}

TEST_F(ProgressTopicTest, ManyRecordsAreRead) {
  std::vector<std::optional<std::string>> values;
  for (uint64_t frontier = 1; frontier <= 2000; ++frontier) {
    values.push_back(EncodeProgress(At(frontier)));
  }
  Store(values);
  EXPECT_EQ(Frontier(), Lsn(2000));
}

// The end of the topic has other pipelines' records only.
TEST_F(ProgressTopicTest, RecordFarBehindThoseOfAnotherPipelineIsFound) {
  Store({EncodeProgress(At(5))});
  Progress other = At(9);
  other.pipeline = "other";
  for (int i = 0; i < 2'000; ++i) {
    Add("other", EncodeProgress(other));
  }
  WaitForDeliveries(2'001);
  const auto reading = Read();
  ASSERT_THAT(reading, IsOk());
  EXPECT_EQ(reading->record->frontier, Lsn(5));
  EXPECT_EQ(reading->others.size(), 1u);
}

// The mock cluster does not know which versions are recent: then all of them are read.
TEST_F(ProgressTopicTest, NewestVersionFarBehindLateOnesIsFound) {
  std::vector<std::optional<std::string>> values = {EncodeProgress(At(9))};
  values.resize(2'000, EncodeProgress(At(5)));
  Store(values);
  EXPECT_EQ(Frontier(), Lsn(9));
}

// It may be that of a later version: to continue from the one before could go back in time.
TEST_F(ProgressTopicTest, UnreadableRecordOfThePipelineIsReportedWithItsOffset) {
  Store({EncodeProgress(At(5)), "{\"id\": 1}"});
  EXPECT_THAT(Read(), HasError(ErrorCode::kProgressUnreadable, "offset 1"));
}

TEST_F(ProgressTopicTest, RecordsOfOtherWritersAreIgnoredAndCounted) {
  Store({EncodeProgress(At(5))});
  Add("orders", "not a record", "id");
  Add("orders", EncodeProgress(At(9)), "id");
  Add("other", EncodeProgress(At(9)));
  Add("other", "not a record");
  WaitForDeliveries(5);
  const auto reading = Read();
  ASSERT_THAT(reading, IsOk());
  EXPECT_EQ(reading->record->frontier, Lsn(5));
  EXPECT_EQ(reading->foreign, 4u);
  EXPECT_THAT(reading->foreign_example, HasSubstr("offset 4"));
  EXPECT_TRUE(reading->others.empty());
}

TEST_F(ProgressTopicTest, RecordsOfOtherPipelinesAreReturnedApart) {
  Store({EncodeProgress(At(5))});
  Progress other = At(9);
  other.pipeline = "other";
  Add("other", EncodeProgress(other));
  other.frontier = Lsn(8);
  Add("other", EncodeProgress(other));
  WaitForDeliveries(3);
  const auto reading = Read();
  ASSERT_THAT(reading, IsOk());
  EXPECT_EQ(reading->record->frontier, Lsn(5));
  ASSERT_EQ(reading->others.size(), 1u);
  EXPECT_EQ(reading->others[0].frontier, Lsn(9));
  EXPECT_EQ(reading->foreign, 0u);
}

TEST_F(ProgressTopicTest, TopicWithTwoPartitionsIsInvalid) {
  CreateTopic(kTopic, 2);
  EXPECT_THAT(Read(), HasError(ErrorCode::kProgressTopicInvalid, "2 partitions"));
}

TEST_F(ProgressTopicTest, IllegalNameIsInvalid) {
  RefuseTopic(kTopic, RD_KAFKA_RESP_ERR_TOPIC_EXCEPTION);
  EXPECT_THAT(Read(), HasError(ErrorCode::kProgressTopicInvalid, kTopic));
}

TEST_F(ProgressTopicTest, DeniedTopicIsReportedWithTheRequiredGrant) {
  RefuseTopic(kTopic, RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED);
  const auto progress = Read();
  EXPECT_THAT(progress, HasError(ErrorCode::kProgressDenied, kTopic));
  EXPECT_THAT(RemedyFor(progress.status()), HasSubstr("kafka-acls.sh"));
  EXPECT_THAT(Write(At(1)), HasError(ErrorCode::kProgressDenied, kTopic));
}

TEST_F(ProgressTopicTest, DeniedReadingIsReported) {
  Store({EncodeProgress(At(5))});
  FailNext(kFetchRequest,
           std::vector<rd_kafka_resp_err_t>(20, RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED));
  EXPECT_THAT(Read(), HasError(ErrorCode::kProgressDenied, "TOPIC_AUTHORIZATION_FAILED"));
}

TEST_F(ProgressTopicTest, NoRightToAGroupIsNeeded) {
  Store({EncodeProgress(At(5))});
  FailNext(kFindCoordinatorRequest,
           std::vector<rd_kafka_resp_err_t>(20, RD_KAFKA_RESP_ERR_GROUP_AUTHORIZATION_FAILED));
  EXPECT_EQ(Frontier(), Lsn(5));
}

TEST_F(ProgressTopicTest, DeniedWritingIsReported) {
  CreateTopic(kTopic);
  FailNext(testing::kProduceRequest, {RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED});
  EXPECT_THAT(Write(At(1)), HasError(ErrorCode::kProgressDenied, "TOPIC_AUTHORIZATION_FAILED"));
  FailNext(testing::kInitProducerIdRequest, {RD_KAFKA_RESP_ERR_CLUSTER_AUTHORIZATION_FAILED});
  EXPECT_THAT(Write(At(1)), HasError(ErrorCode::kProgressDenied, "producer id"));
}

TEST_F(ProgressTopicTest, CreationWaitsForAController) {
  SetTopicError(kTopic, RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART);
  EXPECT_THAT(Read(milliseconds(500)), HasError(ErrorCode::kKafkaUnreachable, "creating topic"));
}

TEST_F(ProgressTopicTest, UnavailableLeaderIsAnOutage) {
  CreateTopic(kTopic);
  rd_kafka_mock_partition_set_leader(cluster_->get(), kTopic, 0, -1);
  EXPECT_THAT(Read(milliseconds(500)), HasError(ErrorCode::kKafkaUnreachable));
}

class ProgressTopicOfTwoBrokersTest : public ProgressTopicTest {
 protected:
  ProgressTopicOfTwoBrokersTest() : ProgressTopicTest(2) {}
};

TEST_F(ProgressTopicOfTwoBrokersTest, LeaderThatCannotBeReachedIsAnOutage) {
  CreateTopic(kTopic);
  rd_kafka_mock_partition_set_leader(cluster_->get(), kTopic, 0, 2);
  rd_kafka_mock_broker_set_down(cluster_->get(), 2);
  EXPECT_THAT(Read(milliseconds(500)), HasError(ErrorCode::kKafkaUnreachable));
}

TEST_F(ProgressTopicTest, DeniedEndOfThePartitionIsReported) {
  Store({EncodeProgress(At(5))});
  FailNext(kListOffsetsRequest,
           std::vector<rd_kafka_resp_err_t>(20, RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED));
  EXPECT_THAT(Read(), HasError(ErrorCode::kProgressDenied));
}

TEST_F(ProgressTopicTest, NoBrokerIsReportedAsUnreachable) {
  StopBrokers();
  EXPECT_THAT(Read(milliseconds(500)), HasError(ErrorCode::kKafkaUnreachable));
}

TEST_F(ProgressTopicTest, RequestToStopInterruptsReading) {
  config_.kafka.bootstrap_servers = "127.0.0.1:1";
  stop_.Request();
  EXPECT_TRUE(absl::IsCancelled(Read(seconds(2)).status()));
}

}  // namespace
}  // namespace walrelay
