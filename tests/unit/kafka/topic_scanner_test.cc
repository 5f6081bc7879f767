#include "kafka/topic_scanner.h"

#include <gtest/gtest.h>

#include "fakes/kafka_fixture.h"

namespace walrelay {
namespace {

using std::chrono::milliseconds;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using testing::kTimeout;
using ::testing::UnorderedElementsAre;

class TopicScannerTest : public testing::ProducerFixture {
 protected:
  // Each record as "id key=value", "-" for what is absent.
  std::vector<std::string> Scan(const std::string& topic) {
    std::vector<std::string> records;
    auto scanner = TopicScanner::Create(config_.kafka);
    EXPECT_THAT(scanner, IsOk());
    const auto doubt =
        scanner->Scan(topic, std::nullopt, kTimeout, [&](const ScannedRecord& record) {
          const auto text = [](std::optional<std::string_view> part) {
            return std::string(part.value_or("-"));
          };
          records.push_back(text(record.id) + " " + text(record.key) + "=" + text(record.value));
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

TEST_F(TopicScannerTest, ReadsAllPartitions) {
  CreateTopic("t", 3);
  Start();
  for (const int32_t partition : {0, 2}) {
    Produce({.topic = "t", .value = std::to_string(partition), .partition = partition});
  }
  WaitForDeliveries(2);
  EXPECT_THAT(Scan("t"), UnorderedElementsAre("- -=0", "- -=2"));
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
  EXPECT_THAT(scanner->Scan("t", std::nullopt, milliseconds(300), [](const ScannedRecord&) {}),
              HasError(ErrorCode::kKafkaUnreachable));
}

}  // namespace
}  // namespace walrelay
