#include "sinks/kafka/topics/topic_reader.h"

#include <gtest/gtest.h>

#include "fakes/kafka_fixture.h"

namespace walrelay {
namespace {

using std::chrono::milliseconds;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using testing::kTimeout;

class TopicReaderTest : public testing::ProducerFixture {
 protected:
  // Each record as "topic[partition]@offset".
  std::vector<std::string> Places(const std::vector<std::string>& topics) {
    std::vector<std::string> places;
    const auto records = ReadTopics(config_.kafka, topics, kTimeout);
    EXPECT_THAT(records, IsOk());
    for (const StoredRecord& record : records.value()) {
      places.push_back(record.topic + "[" + std::to_string(record.partition) + "]@" +
                       std::to_string(record.offset));
    }
    return places;
  }
};

TEST_F(TopicReaderTest, RecordsAreOrderedByTopicPartitionAndOffset) {
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

TEST_F(TopicReaderTest, TopicsWithoutRecordsAndTopicsThatDoNotExistAreEmpty) {
  CreateTopic("empty", 3);
  EXPECT_THAT(Places({"empty", "missing"}), IsEmpty());
}

TEST_F(TopicReaderTest, NoBrokerIsAnError) {
  StopBrokers();
  EXPECT_THAT(ReadTopics(config_.kafka, {"orders"}, milliseconds(300)),
              HasError(ErrorCode::kKafkaUnreachable));
}

}  // namespace
}  // namespace walrelay
