#include "sinks/kafka/producer/client_examiner.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/eventfd.h>

#include <future>

#include "base/unique_fd.h"
#include "fakes/kafka_fixture.h"

namespace walrelay {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

class ClientExaminerTest : public testing::ProducerFixture {
 protected:
  ClientExaminerTest() : ProducerFixture(/*brokers=*/3) { CreateTopic("orders", 3); }

  absl::Status Ask(const std::vector<AwaitedPartition>& partitions,
                   std::chrono::seconds limit = testing::kTimeout) {
    auto conf = MakeConsumerConf(config_.kafka);
    EXPECT_THAT(conf, IsOk());
    return AskLeaders(*std::move(conf), partitions, std::chrono::steady_clock::now() + limit);
  }
};

TEST_F(ClientExaminerTest, LeadersThatAnswerCouldAcceptRecords) {
  EXPECT_THAT(Ask({{"orders", 0}, {"orders", 1}, {"orders", 2}}), IsOk());
  EXPECT_THAT(Ask({{"orders", AwaitedPartition::kMetadata}}), IsOk());
  EXPECT_THAT(Ask({}), IsOk());
}

TEST_F(ClientExaminerTest, PartitionWithoutALeaderIsNamed) {
  rd_kafka_mock_partition_set_leader(cluster_->get(), "orders", 1, -1);
  EXPECT_THAT(Ask({{"orders", 0}, {"orders", 1}}),
              HasError(ErrorCode::kKafkaStalled, "topic orders, partition 1 has no leader"));
  EXPECT_THAT(Ask({{"orders", 0}}), IsOk());
}

TEST_F(ClientExaminerTest, PartitionThatDoesNotExistHasNoLeader) {
  EXPECT_THAT(Ask({{"orders", 7}}), HasError(ErrorCode::kKafkaStalled, "partition 7"));
}

TEST_F(ClientExaminerTest, BrokersThatAreDownAreUnreachable) {
  StopBrokers();
  EXPECT_THAT(Ask({{"orders", 0}}, std::chrono::seconds(1)),
              HasError(ErrorCode::kKafkaUnreachable));
  EXPECT_THAT(Ask({}, std::chrono::seconds(1)), HasError(ErrorCode::kKafkaUnreachable));
}

// The producer's own connection is of no importance: another client is asked.
TEST_F(ClientExaminerTest, ProducerIsExaminedWhileItsRecordsWait) {
  KafkaProducer::Options options;
  options.consumer_conf = [this] { return MakeConsumerConf(config_.kafka); };
  Start(options);
  ProduceKeys({"first"});
  WaitForDeliveries(1);
  EXPECT_TRUE(producer_->examiner()->acknowledged_at());
  FailNext(testing::kProduceRequest, std::vector(1000, RD_KAFKA_RESP_ERR_NOT_ENOUGH_REPLICAS));
  ProduceKeys({"waits"});
  producer_->examiner()->Examine();
  producer_->examiner()->Examine();  // does nothing
  std::optional<Examination> found;
  ASSERT_TRUE(
      PollUntil([&] { return (found = producer_->examiner()->TakeExamination()).has_value(); }));
  EXPECT_THAT(found->brokers, IsOk());
  EXPECT_THAT(found->state, HasSubstr("broker 127.0.0.1"));
  EXPECT_FALSE(producer_->examiner()->TakeExamination());
  ClearErrors(testing::kProduceRequest);
  WaitForDeliveries(2);
}

TEST_F(ClientExaminerTest, ProducerThatEndsWaitsForNoExamination) {
  KafkaProducer::Options options;
  options.consumer_conf = [this] { return MakeConsumerConf(config_.kafka); };
  Reaper reaper;
  options.reaper = &reaper;
  Start(options);
  ProduceKeys({"first"});
  WaitForDeliveries(1);
  StopBrokers();
  producer_->examiner()->Examine();
  producer_.reset();
  EXPECT_TRUE(reaper.Wait(testing::kTimeout));
}

// The evidence is lost, the replacement is not.
TEST_F(ClientExaminerTest, ClientThatHoldsItsLocksIsExaminedWithoutItsState) {
  std::promise<void> ends;
  const UniqueFd wakeup(eventfd(0, EFD_CLOEXEC));
  ClientExaminer examiner(
      [end = ends.get_future().share()] {
        end.wait();
        return std::string("state");
      },
      wakeup.get(), [this] { return MakeConsumerConf(config_.kafka); });
  for (int i = 0; i < 2; ++i) {
    examiner.Begin({});
    pollfd signalled{wakeup.get(), POLLIN, 0};
    ASSERT_EQ(::poll(&signalled, 1, testing::kTimeoutMillis), 1);
    eventfd_t count = 0;
    eventfd_read(wakeup.get(), &count);
    const auto found = examiner.Take();
    ASSERT_TRUE(found.has_value());
    EXPECT_THAT(found->brokers, IsOk());
    EXPECT_THAT(found->state, HasSubstr("cannot be read"));
  }
  ends.set_value();
}

TEST(SummaryOfDumpTest, NamesBrokersAndPartitionsWithRecords) {
  const std::string summary = SummaryOfDump(
      "rd_kafka_t 0x1: rdkafka#producer-1\n producer.msg_cnt 3 (3 bytes)\n brokers:\n"
      " rd_kafka_broker_t 0x2: kafka:9092/2 NodeId 2 in state UP (for 1.496s)\n"
      "  outbuf_cnt: 0 waitresp_cnt: 1\n"
      "   orders [1] broker kafka:9092/2, leader_id kafka:9092/2\n"
      "    msgq:      2 messages\n    xmit_msgq: 1 messages\n"
      "   orders [2] broker kafka:9092/2, leader_id kafka:9092/2\n"
      "    msgq:      0 messages\n    xmit_msgq: 0 messages\n"
      " topics:\n   orders [1] broker kafka:9092/2\n    msgq:      2 messages\n"
      "    xmit_msgq: 1 messages\n");
  EXPECT_EQ(summary,
            "broker kafka:9092/2 NodeId 2 in state UP (for 1.496s); outbuf_cnt: 0 waitresp_cnt: 1; "
            "orders [1] broker kafka:9092/2, leader_id kafka:9092/2: 2 queued, 1 to be sent");
}

TEST(SummaryOfDumpTest, IsBoundedAndAcceptsAnything) {
  EXPECT_THAT(SummaryOfDump(""), IsEmpty());
  EXPECT_THAT(SummaryOfDump("rd_kafka_broker_t"), IsEmpty());
  EXPECT_THAT(SummaryOfDump("] broker \nxmit_msgq:\nmsgq:"), Not(IsEmpty()));
  std::string many;
  for (int i = 0; i < 10'000; ++i) {
    many += " rd_kafka_broker_t 0x2: kafka:9092/2 NodeId 2 in state UP\n";
  }
  EXPECT_LE(SummaryOfDump(many).size(), kMostOfAState);
}

}  // namespace
}  // namespace walrelay
