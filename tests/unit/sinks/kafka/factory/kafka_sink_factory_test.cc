#include "sinks/kafka/factory/kafka_sink_factory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fakes/kafka_fixture.h"
#include "walrelay/error.h"

namespace walrelay {
namespace {

using ::testing::ElementsAre;

class KafkaSinkFactoryTest : public testing::ProducerFixture {
 protected:
  // A sink of a factory with these options.
  void MakeSink(SinkOptions options) {
    factory_ =
        std::make_unique<KafkaSinkFactory>(config_.kafka, config_.pipeline, std::move(options));
    auto sink = factory_->Make({.max_batch_bytes = config_.kafka.max_batch_bytes});
    ASSERT_THAT(sink, IsOk());
    producer_ = *std::move(sink);
  }

  std::unique_ptr<KafkaSinkFactory> factory_;
};

TEST_F(KafkaSinkFactoryTest, SinkPublishesToTheConfiguredBrokers) {
  CreateTopic("orders");
  MakeSink({});
  ProduceKeys({"a", "b"});
  WaitForDeliveries(2);
  EXPECT_THAT(StoredKeys("orders"), ElementsAre("a", "b"));
  EXPECT_EQ(producer_->transactions(), nullptr);
  producer_.reset();
}

TEST_F(KafkaSinkFactoryTest, ClientsThatEndInTheBackgroundAreAwaited) {
  CreateTopic("orders");
  MakeSink({.close_in_background = true});
  ProduceKeys({"a"});
  WaitForDeliveries(1);
  producer_.reset();
  EXPECT_TRUE(factory_->WaitForClients(testing::kTimeout));
}

TEST_F(KafkaSinkFactoryTest, InvalidConfigurationIsAnError) {
  config_.kafka.librdkafka = {{"no.such.property", "1"}};
  KafkaSinkFactory factory(config_.kafka, config_.pipeline, {});
  EXPECT_THAT(factory.Make({.max_batch_bytes = 1024}),
              HasError(ErrorCode::kKafkaConfiguration, "no.such.property"));
}

TEST_F(KafkaSinkFactoryTest, ProgressIsReadAsItWasWritten) {
  CreateTopic(kProgressTopic);
  KafkaSinkFactory factory(config_.kafka, config_.pipeline, {});
  const auto topic = factory.OpenProgress({.patience = testing::kTimeout});
  const ProgressAddress address{.topic = kProgressTopic, .pipeline = "test"};
  Progress progress;
  progress.pipeline = "test";
  progress.frontier = Lsn(0x100);
  ASSERT_THAT(topic->Write(address, progress), IsOk());
  const auto reading = topic->ReadExisting(address);
  ASSERT_THAT(reading, IsOk());
  ASSERT_TRUE(reading->record.has_value());
  EXPECT_EQ(reading->record->frontier, Lsn(0x100));
}

TEST_F(KafkaSinkFactoryTest, TopicsAreReadAsTheyWereWritten) {
  CreateTopic("orders", 2);
  KafkaSinkFactory factory(config_.kafka, config_.pipeline, {});
  ASSERT_THAT(factory.WriteRecord({.topic = "orders", .key = "a", .value = "1"}, testing::kTimeout),
              IsOk());
  const auto records = factory.ReadTopics({"orders"}, testing::kTimeout, std::nullopt);
  ASSERT_THAT(records, IsOk());
  ASSERT_EQ(records->size(), 1u);
  EXPECT_EQ((*records)[0].partition, factory.PartitionOf("a", 2));
  const auto reader = factory.OpenReader();
  ASSERT_THAT(reader, IsOk());
  std::vector<std::string> values;
  EXPECT_THAT((*reader)->Scan("orders", std::nullopt, testing::kTimeout,
                              [&](const TopicRecord& record) {
                                values.emplace_back(record.value().value_or("NULL"));
                                return absl::OkStatus();
                              }),
              IsOk());
  EXPECT_THAT(values, ElementsAre("1"));
}

}  // namespace
}  // namespace walrelay
