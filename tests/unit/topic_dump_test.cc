#include "kafka/topic_dump.h"

#include <gtest/gtest.h>

#include "kafka/cluster_facts.h"
#include "support/kafka_fixture.h"

namespace walrelay {
namespace {

using std::chrono::milliseconds;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using testing::kPatience;

class TopicDumpTest : public testing::ProducerFixture {
 protected:
  // Each record as "topic[partition]@offset".
  std::vector<std::string> Places(const std::vector<std::string>& topics) {
    std::vector<std::string> places;
    const auto records = ReadTopics(config_.kafka, topics, kPatience);
    EXPECT_THAT(records, IsOk());
    for (const StoredRecord& record : records.value()) {
      places.push_back(record.topic + "[" + std::to_string(record.partition) + "]@" +
                       std::to_string(record.offset));
    }
    return places;
  }
};

TEST_F(TopicDumpTest, RecordsAreOrderedByTopicPartitionAndOffset) {
  CreateTopic("b", 2);
  CreateTopic("a");
  Start();
  for (const Record& record : {Record{.topic = "b", .partition = 1},
                               {.topic = "b", .partition = 0},
                               {.topic = "a"},
                               {.topic = "b", .partition = 0}}) {
    Produce(record);
  }
  WaitForDeliveries(4);
  EXPECT_THAT(Places({"b", "a"}), ElementsAre("a[0]@0", "b[0]@0", "b[0]@1", "b[1]@0"));
}

TEST_F(TopicDumpTest, TopicsWithoutRecordsAndTopicsThatDoNotExistAreEmpty) {
  CreateTopic("empty", 3);
  EXPECT_THAT(Places({"empty", "missing"}), IsEmpty());
}

TEST_F(TopicDumpTest, NoBrokerIsAnError) {
  StopBrokers();
  EXPECT_THAT(ReadTopics(config_.kafka, {"orders"}, milliseconds(300)),
              HasError(ErrorCode::kKafkaUnreachable));
}

class ClusterFactsTest : public testing::MockKafkaFixture {
 protected:
  absl::StatusOr<ClusterFacts> Read(const std::string& topic, Micros timeout = kPatience) {
    return ReadClusterFacts(config_.kafka, {topic}, timeout);
  }
};

TEST_F(ClusterFactsTest, BrokersAndClusterAreNamed) {
  const auto facts = Read("orders");
  ASSERT_THAT(facts, IsOk());
  EXPECT_THAT(facts->brokers, ElementsAre(config_.kafka.bootstrap_servers));
  EXPECT_FALSE(facts->cluster_id.empty());
}

TEST_F(ClusterFactsTest, TopicExistsOnlyIfTheBrokerReportsIt) {
  CreateTopic("orders");
  SetTopicError("missing", RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART);
  SetTopicError("denied", RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED);
  EXPECT_THAT(Read("orders").value().topics, ElementsAre(IsOk()));
  EXPECT_THAT(Read("missing").value().topics, ElementsAre(HasError(ErrorCode::kTopicUnknown)));
  EXPECT_THAT(Read("denied").value().topics, ElementsAre(HasError(ErrorCode::kTopicDenied)));
}

TEST_F(ClusterFactsTest, UnreachableBrokersAreNamed) {
  StopBrokers();
  EXPECT_THAT(Read("orders", milliseconds(500)),
              HasError(ErrorCode::kKafkaUnreachable, config_.kafka.bootstrap_servers));
}

TEST_F(ClusterFactsTest, SettingRejectedByLibrdkafkaIsAConfigurationError) {
  config_.kafka.security_protocol = "SSL";
  config_.kafka.ssl_ca_file = "/no/such/file.pem";
  EXPECT_THAT(Read("orders"), HasError(ErrorCode::kKafkaConfiguration, "ssl.ca.location"));
}

}  // namespace
}  // namespace walrelay
