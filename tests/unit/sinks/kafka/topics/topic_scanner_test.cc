#include "sinks/kafka/topics/topic_scanner.h"

#include <gtest/gtest.h>

#include "fakes/kafka_fixture.h"

namespace walrelay {
namespace {

using std::chrono::milliseconds;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using testing::kTimeout;
using ::testing::Pair;
using ::testing::UnorderedElementsAre;

class TopicScannerTest : public testing::ProducerFixture {
 protected:
  // Each record as "id key=value", "-" for what is absent.
  std::vector<std::string> Scan(const std::string& topic) {
    std::vector<std::string> records;
    auto scanner = TopicScanner::Create(config_.kafka);
    EXPECT_THAT(scanner, IsOk());
    const auto doubt = scanner->Scan(topic, std::nullopt, kTimeout, [&](const TopicRecord& record) {
      const auto text = [](TopicRecord::Text part) { return std::string(part.value_or("-")); };
      records.push_back(text(record.Header("id")) + " " + text(record.key()) + "=" +
                        text(record.value()));
      return absl::OkStatus();
    });
    EXPECT_THAT(doubt, IsOkAndHolds(""));
    return records;
  }
};

TEST_F(TopicScannerTest, PassesOnWhatIdentifiesARecord) {
  CreateTopic("t");
  Start();
  const Header headers[] = {{"id", "0"}, {"event_type", "made"}, {"id", "1"}};
  Produce({.topic = "t", .key = "k", .value = "v", .headers = headers});
  Produce({.topic = "t", .key = "", .value = std::nullopt});
  WaitForDeliveries(2);
  EXPECT_THAT(Scan("t"), ElementsAre("1 k=v", "- =-"));
}

TEST_F(TopicScannerTest, PassesOnWhatARecordHas) {
  CreateTopic("t");
  Start();
  const Header headers[] = {{"id", "0"}, {"trace", std::nullopt}};
  Produce({.topic = "t", .headers = headers, .timestamp = WallTime(milliseconds(5))});
  WaitForDeliveries(1);
  auto scanner = TopicScanner::Create(config_.kafka);
  ASSERT_THAT(scanner, IsOk());
  const auto check = [](const TopicRecord& record) {
    EXPECT_EQ(record.partition(), 0);
    EXPECT_EQ(record.offset(), 0);
    EXPECT_EQ(record.timestamp(), WallTime(milliseconds(5)));
    EXPECT_THAT(record.headers(), ElementsAre(Pair("id", "0"), Pair("trace", std::nullopt)));
    return absl::OkStatus();
  };
  EXPECT_THAT(scanner->Scan("t", std::nullopt, kTimeout, check), IsOkAndHolds(""));
}

TEST_F(TopicScannerTest, AnErrorOfTheCallbackEndsTheScan) {
  CreateTopic("t");
  Start();
  for (const char* const value : {"1", "2", "3"}) {
    Produce({.topic = "t", .value = value});
  }
  WaitForDeliveries(3);
  auto scanner = TopicScanner::Create(config_.kafka);
  ASSERT_THAT(scanner, IsOk());
  std::vector<std::string> values;
  const auto read = [&](size_t most) {
    values.clear();
    return scanner
        ->Scan("t", std::nullopt, kTimeout,
               [&](const TopicRecord& record) {
                 values.emplace_back(record.value().value_or("-"));
                 return values.size() < most ? absl::OkStatus()
                                             : Error(ErrorCode::kUsage, "enough");
               })
        .status();
  };
  EXPECT_THAT(read(2), HasError(ErrorCode::kUsage));
  EXPECT_THAT(values, ElementsAre("1", "2"));
  EXPECT_THAT(read(9), IsOk());
  EXPECT_THAT(values, ElementsAre("1", "2", "3")) << "the scanner can be used again";
}

TEST_F(TopicScannerTest, ReadsAllPartitions) {
  CreateTopic("t", 3);
  Start();
  for (const int32_t partition : {0, 2}) {
    Produce({.topic = "t", .value = std::to_string(partition), .partition = partition});
  }
  WaitForDeliveries(2);
  EXPECT_THAT(Scan("t"), UnorderedElementsAre("- -=0", "- -=2"));
}

// Before version 2.2, librdkafka pauses for up to a second each time that the queue is full.
TEST_F(TopicScannerTest, AFullQueueDoesNotPauseTheScan) {
  constexpr int kPartitions = 8;
  constexpr int kRecords = 300 * kPartitions;
  CreateTopic("t", kPartitions);
  Start();
  const std::string value(10'000, 'x');
  for (int i = 0; i < kRecords; ++i) {
    Produce({.topic = "t", .value = value, .partition = i % kPartitions});
  }
  WaitForDeliveries(kRecords);
  auto scanner = TopicScanner::Create(config_.kafka);
  ASSERT_THAT(scanner, IsOk());
  int read = 0;
  EXPECT_THAT(scanner->Scan("t", std::nullopt, std::chrono::seconds(10),
                            [&](const TopicRecord&) {
                              ++read;
                              return absl::OkStatus();
                            }),
              IsOkAndHolds(""));
  EXPECT_EQ(read, kRecords);
}

TEST_F(TopicScannerTest, TopicsWithoutRecordsAndTopicsThatDoNotExistAreEmpty) {
  CreateTopic("empty", 3);
  EXPECT_THAT(Scan("empty"), IsEmpty());
  RefuseTopic("missing", RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART);
  EXPECT_THAT(Scan("missing"), IsEmpty());
}

TEST_F(TopicScannerTest, NoBrokerIsAnError) {
  auto scanner = TopicScanner::Create(config_.kafka);
  ASSERT_THAT(scanner, IsOk());
  StopBrokers();
  EXPECT_THAT(scanner->Scan("t", std::nullopt, milliseconds(300),
                            [](const TopicRecord&) { return absl::OkStatus(); }),
              HasError(ErrorCode::kKafkaUnreachable));
}

}  // namespace
}  // namespace walrelay
