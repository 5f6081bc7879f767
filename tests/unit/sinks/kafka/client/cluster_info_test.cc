#include "sinks/kafka/client/cluster_info.h"

#include <gtest/gtest.h>

#include "fakes/kafka_fixture.h"

namespace walrelay {
namespace {

using std::chrono::milliseconds;
using ::testing::ElementsAre;
using testing::kTimeout;

class ClusterFactsTest : public testing::MockKafkaFixture {
 protected:
  absl::StatusOr<ClusterInfo> Read(const std::string& topic, Micros timeout = kTimeout) {
    return ReadClusterInfo(config_.kafka, {topic}, timeout);
  }
};

TEST_F(ClusterFactsTest, BrokersAndClusterAreNamed) {
  const auto info = Read("orders");
  ASSERT_THAT(info, IsOk());
  EXPECT_THAT(info->brokers, ElementsAre(config_.kafka.bootstrap_servers));
  EXPECT_FALSE(info->cluster_id.empty());
}

TEST_F(ClusterFactsTest, TopicExistsOnlyIfTheBrokerReportsIt) {
  CreateTopic("orders");
  SetTopicError("missing", RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART);
  RefuseTopic("denied", RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED);
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
