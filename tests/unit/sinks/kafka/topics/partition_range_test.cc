// When reading gives up; what it reads is tested with its users.

#include "sinks/kafka/topics/partition_range.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fakes/kafka_fixture.h"
#include "sinks/kafka/client/conf.h"

namespace walrelay {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;
using ::testing::AllOf;
using ::testing::HasSubstr;
using testing::kTimeout;

class PartitionRangeTest : public testing::ProducerFixture {
 protected:
  // Three records are followed by nothing.
  void SetUp() override {
    CreateTopic("p");
    Start();
    for (int i = 0; i < 3; ++i) {
      Produce({.topic = "p"});
    }
    WaitForDeliveries(3);
    auto conf = MakeConsumerConf(config_.kafka);
    ASSERT_THAT(conf, IsOk());
    auto client = MakeClient(RD_KAFKA_CONSUMER, *std::move(conf));
    ASSERT_THAT(client, IsOk());
    client_ = *std::move(client);
  }
  absl::Status Read(int64_t end, const ReadLimits& limits) {
    return ReadRanges(client_.get(), {{.topic = "p", .begin = 0, .end = end}}, limits, {},
                      [this](const rd_kafka_message_t&) {
                        ++read_;
                        return absl::OkStatus();
                      });
  }

  KafkaClient client_;
  int read_ = 0;
};

TEST_F(PartitionRangeTest, ReadsToTheEndWithinTheDeadline) {
  EXPECT_THAT(Read(3, {.deadline = steady_clock::now() + kTimeout}), IsOk());
  EXPECT_EQ(read_, 3);
}

TEST_F(PartitionRangeTest, SilenceEndsReadingAndTheErrorSaysHowFarItCame) {
  uint64_t arrived = 0;  // grows until the records are read, however long a busy machine takes
  EXPECT_THAT(Read(1'000, {.deadline = steady_clock::now() + kTimeout,
                           .patience = milliseconds(500),
                           .arrived = [&] { return read_ < 3 ? ++arrived : arrived; }}),
              HasError(ErrorCode::kKafkaUnreachable, "reading 3 records"));
  EXPECT_EQ(read_, 3);
  EXPECT_THAT(Read(1'000, {.deadline = steady_clock::now() + milliseconds(300)}),
              HasError(ErrorCode::kKafkaUnreachable, "partition 0 up to offset 1000"));
}

// Markers of transactions are fetched, but are no records.
TEST_F(PartitionRangeTest, ReadingGoesOnWhileBytesArrive) {
  constexpr int kAnswers = 100;  // take longer than the patience
  int answers = 0;
  const absl::Status read = Read(1'000, {.deadline = steady_clock::now() + kTimeout,
                                         .patience = milliseconds(300),
                                         .arrived = [&]() -> uint64_t {
                                           answers = std::min(answers + 1, kAnswers);
                                           return static_cast<uint64_t>(1'000 * answers);
                                         }});
  EXPECT_THAT(read, HasError(ErrorCode::kKafkaUnreachable, "fetching 99000 bytes, up to offset 3"));
  EXPECT_EQ(answers, kAnswers);
}

}  // namespace
}  // namespace walrelay
