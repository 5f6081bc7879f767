#include "sinks/kafka/topics/progress_consumer.h"

#include <gtest/gtest.h>

#include "fakes/kafka_fixture.h"
#include "sinks/kafka/admin/progress_topic.h"
#include "sinks/kafka/topics/partition_range.h"

namespace walrelay {
namespace {

using testing::kTimeout;

constexpr int16_t kFetch = 1;
constexpr int16_t kMetadata = 3;

class ProgressConsumerTest : public testing::ProducerFixture {
 protected:
  std::unique_ptr<ProgressConsumer> Consumer() {
    auto conf = MakeProgressConf(config_.kafka);
    EXPECT_THAT(conf, IsOk());
    auto consumer = ProgressConsumer::Create(*std::move(conf));
    EXPECT_THAT(consumer, IsOk());
    return *std::move(consumer);
  }
};

TEST_F(ProgressConsumerTest, OnlyAnswersWithRecordsCount) {
  const auto consumer = Consumer();
  consumer->OnAnswered(kMetadata, 10'000);
  consumer->OnAnswered(kFetch, 200);
  EXPECT_EQ(consumer->fetched(), 0u);
  consumer->OnAnswered(kFetch, 10'000);
  consumer->OnAnswered(kFetch, 5'000);
  EXPECT_EQ(consumer->fetched(), 15'000u);
}

TEST_F(ProgressConsumerTest, CountsWhatItReads) {
  CreateTopic("p");
  Start();
  Produce({.topic = "p", .value = std::string(4'000, 'x')});
  WaitForDeliveries(1);
  const auto consumer = Consumer();
  const PartitionRange range{.topic = "p", .begin = 0, .end = 1};
  EXPECT_THAT(ReadRanges(consumer->client(), {range},
                         {.deadline = std::chrono::steady_clock::now() + kTimeout}, {},
                         [](const rd_kafka_message_t&) { return absl::OkStatus(); }),
              IsOk());
  EXPECT_GE(consumer->fetched(), 4'000u);
}

}  // namespace
}  // namespace walrelay
