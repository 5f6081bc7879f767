// The producer's state of brokers and credentials, and its destruction.

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>

#include "fakes/kafka_fixture.h"
#include "fakes/temporary_directory.h"
#include "sinks/kafka/producer/kafka_producer.h"

namespace walrelay {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class KafkaProducerLifeTest : public testing::ProducerFixture {
 protected:
  KafkaProducerLifeTest() : ProducerFixture(/*brokers=*/2) {}

  void StartAndDeliver(const KafkaProducer::Options& options = {}) {
    CreateTopic("orders");
    Start(options);
    ProduceKeys({"first"});
    WaitForDeliveries(1);
  }

  testing::TemporaryDirectory directory_;
};

// --- brokers ---

TEST_F(KafkaProducerLifeTest, UnreachableWhileAllBrokersAreDown) {
  StartAndDeliver();
  EXPECT_TRUE(producer_->health().reachable);
  StopBrokers();
  ASSERT_TRUE(PollUntil([&] { return !producer_->health().reachable; }));
  EXPECT_THAT(producer_->health().trouble, HasError(ErrorCode::kKafkaUnreachable));
  StartBrokers();
  // Nothing is in flight: the producer polls the brokers itself.
  ASSERT_TRUE(PollUntil([&] { return producer_->health().reachable; }));
  EXPECT_THAT(producer_->health().trouble, IsOk());
}

TEST_F(KafkaProducerLifeTest, UnreachableWhileConnectionsAreRefused) {
  config_.kafka.bootstrap_servers = "127.0.0.1:1";
  Start();
  ASSERT_TRUE(PollUntil([&] { return !producer_->health().reachable; }));
  EXPECT_THAT(producer_->Produce({.topic = "orders"}, {1, 1}), IsOkAndHolds(Wait::kTopic));
}

TEST_F(KafkaProducerLifeTest, BrokersThatComeBackBeforeTheFirstTopicAreReachable) {
  StopBrokers();
  Start();
  ASSERT_TRUE(PollUntil([&] { return !producer_->health().reachable; }));
  StartBrokers();
  EXPECT_TRUE(PollUntil([&] { return producer_->health().reachable; }));
}

TEST_F(KafkaProducerLifeTest, PartitionWithoutALeaderIsReachable) {
  StartAndDeliver();
  rd_kafka_mock_partition_set_leader(cluster_->get(), "orders", 0, -1);
  FailNext(testing::kProduceRequest, std::vector(5, RD_KAFKA_RESP_ERR_NOT_LEADER_FOR_PARTITION));
  ProduceKeys({"waits"});
  for (int i = 0; i < 20; ++i) {
    Poll();
    EXPECT_TRUE(producer_->health().reachable);
  }
  rd_kafka_mock_partition_set_leader(cluster_->get(), "orders", 0, 1);
  ClearErrors(testing::kProduceRequest);
  WaitForDeliveries(2);
}

// --- leaders ---

TEST_F(KafkaProducerLifeTest, OneRecordIsInFlightAfterAChangeOfLeader) {
  CreateTopic("orders");
  rd_kafka_mock_partition_set_leader(cluster_->get(), "orders", 0, 1);
  Start({.refresh_interval = Micros(1)});
  ProduceKeys({"first"});
  WaitForDeliveries(1);
  rd_kafka_mock_partition_set_leader(cluster_->get(), "orders", 0, 2);
  size_t sent = 1;
  const bool held = PollUntil([&] {
    if (delivered_.size() < sent) {
      return false;
    }
    ProduceKeys({"alone"});
    ++sent;
    const auto second = producer_->Produce({.topic = "orders", .key = "second"}, {999, 1});
    EXPECT_THAT(second, IsOk());
    sent += second.ok() && *second == Wait::kNone ? 1u : 0u;
    return second.ok() && *second == Wait::kQueue;
  });
  EXPECT_TRUE(held);
  WaitForDeliveries(sent);
  ProduceKeys({"after"});
  EXPECT_THAT(producer_->Produce({.topic = "orders", .key = "beside"}, {999, 2}),
              IsOkAndHolds(Wait::kNone));
  WaitForDeliveries(sent + 2);
}

// --- credentials ---

TEST_F(KafkaProducerLifeTest, OutdatedWhenACertificateHasChanged) {
  config_.kafka.ssl_ca_file = directory_.Write("ca.pem", "one");
  StartAndDeliver({.sample_interval = std::chrono::milliseconds(5)});
  EXPECT_FALSE(producer_->health().outdated);
  directory_.Write("ca.pem", "another");
  EXPECT_TRUE(PollUntil([&] { return producer_->health().outdated; }));
  EXPECT_THAT(producer_->FatalError(), IsOk());
  ProduceKeys({"second"});  // the producer continues until it is replaced
  WaitForDeliveries(2);
}

TEST_F(KafkaProducerLifeTest, OutdatedWhenLoginsFailForLong) {
  // The mock does not support logins: each one fails.
  config_.kafka.security_protocol = "SASL_PLAINTEXT";
  config_.kafka.sasl_mechanism = "SCRAM-SHA-256";
  config_.kafka.sasl_username = "user";
  config_.kafka.sasl_password = Secret("password");
  Start({.login_grace = std::chrono::milliseconds(50)});
  EXPECT_FALSE(producer_->health().outdated);
  EXPECT_TRUE(PollUntil([&] { return producer_->health().outdated; }));
  EXPECT_THAT(producer_->health().trouble, HasError(ErrorCode::kKafkaLogin));
}

// --- destruction ---

// A pipe to which nothing is written simulates a file system that hangs. The thread that reads it
// cannot end, but the thread that destroys the producer is not blocked.
TEST_F(KafkaProducerLifeTest, DestroyingTheProducerDoesNotWaitForItsThreads) {
  const std::string pipe = directory_.File("password");
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  Reaper reaper;
  StartAndDeliver({.password_file = pipe, .reaper = &reaper});
  StopBrokers();
  ProduceKeys({"undelivered"});
  UniqueFd writer;
  // ENXIO until the thread has the pipe open, which it then reads.
  ASSERT_TRUE(PollUntil([&] {
    writer.reset(::open(pipe.c_str(), O_WRONLY | O_NONBLOCK | O_CLOEXEC));
    return writer.valid();
  }));
  producer_.reset();
  EXPECT_FALSE(reaper.Wait(Micros(1000)));
  writer.reset();
  EXPECT_TRUE(reaper.Wait(testing::kTimeout));
  EXPECT_EQ(delivered_.size(), 1u);
  EXPECT_THAT(failed_, IsEmpty());
}

TEST_F(KafkaProducerLifeTest, NextProducerDeliversWhileThePreviousOneEnds) {
  Reaper reaper;
  StartAndDeliver({.reaper = &reaper});
  for (const char* key : {"second", "third", "fourth"}) {
    Start({.reaper = &reaper});
    ProduceKeys({key});
    WaitForDeliveries(delivered_.size() + 1);
  }
  EXPECT_THAT(StoredKeys("orders"), ElementsAre("first", "second", "third", "fourth"));
  producer_.reset();
  EXPECT_TRUE(reaper.Wait(testing::kTimeout));
}

}  // namespace
}  // namespace walrelay
