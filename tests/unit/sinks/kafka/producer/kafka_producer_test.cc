// Records as the producer stores them on the mock cluster. kafka_producer_errors_test.cc tests its
// errors.

#include "sinks/kafka/producer/kafka_producer.h"

#include <gtest/gtest.h>
#include <librdkafka/rdkafka.h>
#include <sched.h>

#include <map>
#include <set>

#include "fakes/kafka_fixture.h"
#include "sinks/kafka/client/handles.h"

namespace walrelay {
namespace {

using std::string_view_literals::operator""sv;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;

class KafkaProducerTest : public testing::ProducerFixture {
 protected:
  // Produces the record and returns it as stored in Kafka; its topic must have no other record.
  StoredRecord Arrived(const Record& record) {
    Produce(record);
    WaitForDeliveries(1);
    const std::vector<StoredRecord> stored = Stored(std::string(record.topic));
    EXPECT_EQ(stored.size(), 1u);
    return stored.empty() ? StoredRecord() : stored.front();
  }
  // The partition that the producer chooses for this key.
  int32_t PartitionOf(std::string_view key) {
    delivered_.clear();
    Produce({.topic = "orders", .key = key, .value = "{}"});
    WaitForDeliveries(1);
    return delivered_.empty() ? -1 : delivered_[0].partition;
  }
  // The timestamp, in milliseconds, of the first record of "orders".
  int64_t StoredTimestamp() {
    auto conf = MakeConsumerConf(config_.kafka);
    EXPECT_THAT(conf, IsOk());
    const KafkaClient client(rd_kafka_new(RD_KAFKA_CONSUMER, conf->release(), nullptr, 0));
    const KafkaPartitionList partitions(rd_kafka_topic_partition_list_new(1));
    rd_kafka_topic_partition_list_add(partitions.get(), "orders", 0)->offset = 0;
    rd_kafka_assign(client.get(), partitions.get());
    const KafkaMessage message(rd_kafka_consumer_poll(client.get(), testing::kTimeoutMillis));
    EXPECT_TRUE(message != nullptr && message->err == RD_KAFKA_RESP_ERR_NO_ERROR);
    return message != nullptr ? rd_kafka_message_timestamp(message.get(), nullptr) : 0;
  }
  bool Readable() {
    pollfd wakeup{producer_->poll_fd(), POLLIN, 0};
    return ::poll(&wakeup, 1, testing::kTimeoutMillis) == 1;
  }
};

TEST_F(KafkaProducerTest, DeliveryHasTheTokenPartitionAndOffsetOfTheRecord) {
  CreateTopic("orders");
  Start();
  Produce({.topic = "orders", .key = "k", .value = "12345"}, {0xFEDCBA98, 0x76543210});
  WaitForDeliveries(1);
  const Delivered& delivered = delivered_.at(0);
  EXPECT_EQ(delivered.token, (DeliveryToken{0xFEDCBA98, 0x76543210}));
  EXPECT_EQ(delivered.topic, "orders");
  EXPECT_EQ(delivered.partition, 0);
  EXPECT_EQ(delivered.offset, 0);
  EXPECT_EQ(delivered.key, "k");
  EXPECT_EQ(delivered.bytes, Record::kOverheadBytes + 6);
}

TEST_F(KafkaProducerTest, RecordsOfAPartitionAreDeliveredInOrder) {
  CreateTopic("orders");
  Start();
  std::vector<std::string> keys;
  for (int i = 0; i < 500; ++i) {
    keys.push_back(std::to_string(i));
  }
  ProduceKeys(keys);
  WaitForDeliveries(keys.size());
  EXPECT_EQ(DeliveredKeys(), keys);
  EXPECT_EQ(StoredKeys("orders"), keys);
}

// A broker accepts any first batch of a producer that it does not know. With two batches in flight,
// the second could be stored without the first.
TEST_F(KafkaProducerTest, SecondRecordOfAPartitionWaitsUntilTheFirstIsAcknowledged) {
  CreateTopic("orders");
  Start();
  Produce({.topic = "orders", .key = "first"});
  StopBrokers();
  for (const Record& next : {Record{.topic = "orders", .key = "second"},
                             Record{.topic = "orders", .value = "without a key"},
                             Record{.topic = "orders", .key = "chosen", .partition = 0}}) {
    EXPECT_THAT(producer_->Produce(next, {2, 1}), IsOkAndHolds(Wait::kQueue));
  }
  StartBrokers();
  WaitForDeliveries(1);
  EXPECT_THAT(producer_->Produce({.topic = "orders", .key = "second"}, {2, 1}),
              IsOkAndHolds(Wait::kNone));
}

TEST_F(KafkaProducerTest, FirstRecordOfAnotherPartitionDoesNotWait) {
  CreateTopic("orders", 2);
  Start();
  Produce({.topic = "orders", .partition = 0});
  EXPECT_THAT(producer_->Produce({.topic = "orders", .partition = 1}, {2, 1}),
              IsOkAndHolds(Wait::kNone));
}

TEST_F(KafkaProducerTest, RecordsWithoutAKeyAreSpreadByTransaction) {
  CreateTopic("orders", 3);
  Start();
  for (const DeliveryToken token :
       {DeliveryToken{1, 1}, DeliveryToken{1, 2}, DeliveryToken{2, 1}, DeliveryToken{3, 1}}) {
    Produce({.topic = "orders", .value = "{}"}, token);
  }
  WaitForDeliveries(4);
  std::map<uint32_t, std::set<int32_t>> partitions;
  for (const Delivered& delivered : delivered_) {
    partitions[delivered.token.transaction].insert(delivered.partition);
  }
  EXPECT_THAT(partitions, ElementsAre(Pair(1, ElementsAre(1)), Pair(2, ElementsAre(2)),
                                      Pair(3, ElementsAre(0))));
}

TEST_F(KafkaProducerTest, BytesAreCopiedBeforeProduceReturns) {
  CreateTopic("orders");
  Start();
  std::string bytes = "kept";
  const Header header{"h", bytes};
  Produce({.topic = "orders", .key = bytes, .value = bytes, .headers = std::span(&header, 1)});
  bytes.assign(4, 'x');
  WaitForDeliveries(1);
  const StoredRecord stored = Stored("orders").at(0);
  EXPECT_EQ(stored.key, "kept");
  EXPECT_EQ(stored.value, "kept");
  EXPECT_THAT(stored.headers, ElementsAre(Pair("h", "kept")));
}

TEST_F(KafkaProducerTest, NullKeyAndValueStayNull) {
  CreateTopic("orders");
  Start();
  const StoredRecord stored = Arrived({.topic = "orders"});
  EXPECT_EQ(stored.key, std::nullopt);
  EXPECT_EQ(stored.value, std::nullopt);
  EXPECT_EQ(delivered_.at(0).key, std::nullopt);
}

TEST_F(KafkaProducerTest, EmptyKeyAndValueAreNotNull) {
  CreateTopic("orders");
  Start();
  const StoredRecord stored =
      Arrived({.topic = "orders", .key = std::string_view(), .value = std::string_view()});
  EXPECT_EQ(stored.key, "");
  EXPECT_EQ(stored.value, "");
  EXPECT_EQ(delivered_.at(0).key, "");
}

TEST_F(KafkaProducerTest, ArbitraryBytesAreStoredUnchanged) {
  CreateTopic("orders");
  Start();
  const StoredRecord stored =
      Arrived({.topic = "orders", .key = "\0k\xFF"sv, .value = "v\0\n\xC0"sv});
  EXPECT_EQ(stored.key, "\0k\xFF"sv);
  EXPECT_EQ(stored.value, "v\0\n\xC0"sv);
}

TEST_F(KafkaProducerTest, HeadersKeepOrderDuplicatesNullAndEmpty) {
  CreateTopic("orders");
  Start({.delivery_details = true});
  const Header headers[] = {
      {"z", "1"}, {"a", std::nullopt}, {"z", "2"}, {"e", std::string_view()}, {"b", "\0\xFF"sv}};
  const StoredRecord stored = Arrived({.topic = "orders", .value = "{}", .headers = headers});
  const auto as_given = ElementsAre(Pair("z", "1"), Pair("a", std::nullopt), Pair("z", "2"),
                                    Pair("e", ""), Pair("b", std::string("\0\xFF", 2)));
  EXPECT_THAT(stored.headers, as_given);
  EXPECT_THAT(delivered_.at(0).headers, as_given);
}

TEST_F(KafkaProducerTest, HeadersAreReportedOnlyWithDeliveryDetails) {
  CreateTopic("orders");
  Start();
  const Header header{"id", "1"};
  Arrived({.topic = "orders", .headers = std::span(&header, 1)});
  EXPECT_THAT(delivered_.at(0).headers, IsEmpty());
}

TEST_F(KafkaProducerTest, TimestampIsStoredInMilliseconds) {
  CreateTopic("orders");
  Start();
  const WallTime time = std::chrono::sys_days(std::chrono::year(2026) / 11 / 20) + Micros(1'999);
  Arrived({.topic = "orders", .timestamp = time});
  EXPECT_EQ(StoredTimestamp(), 1'795'132'800'001);
}

TEST_F(KafkaProducerTest, EpochIsNotReplacedByTheCurrentTime) {
  CreateTopic("orders");
  Start();
  Arrived({.topic = "orders", .timestamp = WallTime()});
  EXPECT_EQ(StoredTimestamp(), 1);
}

TEST_F(KafkaProducerTest, RecordWithoutATimestampHasTheTimeOfProducing) {
  CreateTopic("orders");
  Start();
  const auto before = std::chrono::system_clock::now().time_since_epoch();
  Arrived({.topic = "orders"});
  EXPECT_GE(StoredTimestamp(), std::chrono::floor<std::chrono::milliseconds>(before).count());
}

TEST_F(KafkaProducerTest, GivenPartitionIsUsed) {
  CreateTopic("orders", 8);
  Start();
  for (int32_t partition = 0; partition < 8; ++partition) {
    Produce({.topic = "orders", .key = "same", .partition = partition});
  }
  WaitForDeliveries(8);
  for (const StoredRecord& record : Stored("orders")) {
    EXPECT_EQ(record.offset, 0) << record.partition;
  }
}

TEST_F(KafkaProducerTest, MissingPartitionAffectsOnlyTheRecord) {
  CreateTopic("orders", 2);
  Start();
  const Header header{"id", "1"};
  EXPECT_THAT(Offer({.topic = "orders", .headers = std::span(&header, 1), .partition = 2}),
              HasError(ErrorCode::kValueInvalid, "topic orders has no partition 2"));
  EXPECT_THAT(producer_->FatalError(), IsOk());
  Produce({.topic = "orders", .key = "next", .partition = 1});
  WaitForDeliveries(1);
  EXPECT_THAT(DeliveredKeys(), ElementsAre("next"));
}

// Hashes as computed by org.apache.kafka.common.utils.Utils.murmur2; the first six are from Kafka's
// own test.
TEST_F(KafkaProducerTest, PartitionOfAKeyMatchesTheJavaProducer) {
  constexpr std::pair<std::string_view, int32_t> kHashes[] = {
      {"21", -973932308},
      {"foobar", -790332482},
      {"a-little-bit-long-string", -985981536},
      {"a-little-bit-longer-string", -1486304829},
      {"lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8", -58897971},
      {"abc", 479470107},
      {"", 275646681},
      {"\xFF\xFE\xFD\xFC\xFB", 524068735},
      {"Z\xC3\xBCrich", -1551140815},
      {std::string_view("a\0b", 3), -19837367}};
  constexpr int kPartitions = 97;
  CreateTopic("orders", kPartitions);
  Start();
  for (const auto& [key, hash] : kHashes) {
    EXPECT_EQ(PartitionOf(key), (hash & 0x7FFFFFFF) % kPartitions) << key;
  }
}

TEST_F(KafkaProducerTest, RecordAboveTheLimitAffectsOnlyTheRecord) {
  config_.kafka.max_record_bytes = 10'000;
  CreateTopic("orders");
  Start();
  const std::string large(10'001, 'x');
  EXPECT_THAT(Offer({.topic = "orders", .key = "k", .value = large}),
              HasError(ErrorCode::kRecordTooLarge, "10002 bytes for topic orders"));
  EXPECT_THAT(producer_->FatalError(), IsOk());
  Produce({.topic = "orders", .key = "next"});
  WaitForDeliveries(1);
  EXPECT_THAT(DeliveredKeys(), ElementsAre("next"));
}

TEST_F(KafkaProducerTest, RecordOfAFewMegabytesIsDeliveredWithinTheLimit) {
  config_.kafka.max_record_bytes = 4'000'000;
  CreateTopic("orders");
  Start();
  const std::string large(3'900'000, 'x');
  EXPECT_EQ(Arrived({.topic = "orders", .value = large}).value, large);
}

TEST_F(KafkaProducerTest, FullQueueIsReportedAndHasRoomAfterDeliveries) {
  config_.kafka.librdkafka = {{"queue.buffering.max.messages", "3"}};
  CreateTopic("orders");
  Start();
  ProduceKeys({"warm-up"});
  WaitForDeliveries(1);
  StopBrokers();
  ProduceKeys({"a", "b", "c"});
  const Record next{.topic = "orders", .key = "d"};
  EXPECT_THAT(producer_->Produce(next, {5, 1}), IsOkAndHolds(Wait::kQueue));
  StartBrokers();
  WaitForDeliveries(4);
  EXPECT_THAT(producer_->Produce(next, {5, 1}), IsOkAndHolds(Wait::kNone));
  WaitForDeliveries(5);
  EXPECT_THAT(DeliveredKeys(), ElementsAre("warm-up", "a", "b", "c", "d"));
}

TEST_F(KafkaProducerTest, DescriptorIsReadableForMetadataAndReports) {
  CreateTopic("orders");
  Start();
  const Record record{.topic = "orders", .key = "k"};
  ASSERT_THAT(producer_->Produce(record, {1, 1}), IsOkAndHolds(Wait::kTopic));
  EXPECT_TRUE(Readable());
  Produce(record);
  EXPECT_TRUE(Readable());
  WaitForDeliveries(1);
}

TEST_F(KafkaProducerTest, DescriptorIsNotReadableWhenIdle) {
  CreateTopic("orders");
  Start();
  Produce({.topic = "orders"});
  WaitForDeliveries(1);
  EXPECT_TRUE(PollUntil([&] {
    pollfd wakeup{producer_->poll_fd(), POLLIN, 0};
    return ::poll(&wakeup, 1, 100) == 0;
  }));
}

TEST_F(KafkaProducerTest, LatencyEndsWithTheAcknowledgementNotWithItsReport) {
  using std::chrono::milliseconds;
  using std::chrono::steady_clock;
  CreateTopic("orders");
  Start();
  ProduceKeys({"first"});
  WaitForDeliveries(1);
  const auto produced = steady_clock::now();
  ProduceKeys({"second"});
  ASSERT_TRUE(Readable());
  const auto readable = steady_clock::now();
  while (steady_clock::now() - readable < milliseconds(50)) {
    ::sched_yield();
  }
  WaitForDeliveries(2);
  EXPECT_GE(delivered_[1].report_delay, milliseconds(49));  // the clocks differ
  EXPECT_GT(delivered_[1].latency, Micros(0));
  EXPECT_LE(delivered_[1].latency, steady_clock::now() - produced - milliseconds(49));
}

TEST_F(KafkaProducerTest, ProducerWithUndeliveredRecordsEndsPromptlyAndReportsNothing) {
  CreateTopic("orders");
  Start();
  ProduceKeys({"warm-up"});
  WaitForDeliveries(1);
  StopBrokers();
  ProduceKeys({"a", "b", "c"});
  const auto before = std::chrono::steady_clock::now();
  producer_.reset();
  EXPECT_LT(std::chrono::steady_clock::now() - before, std::chrono::seconds(10));
  EXPECT_EQ(delivered_.size(), 1u);
  EXPECT_THAT(failed_, IsEmpty());
}

TEST_F(KafkaProducerTest, ProducerWithoutAnyBrokerStartsAndEndsPromptly) {
  StopBrokers();
  Start();
  EXPECT_THAT(producer_->Produce({.topic = "orders"}, {1, 1}), IsOkAndHolds(Wait::kTopic));
  EXPECT_THAT(producer_->FatalError(), IsOk());
  const auto before = std::chrono::steady_clock::now();
  producer_.reset();
  EXPECT_LT(std::chrono::steady_clock::now() - before, std::chrono::seconds(10));
}

TEST_F(KafkaProducerTest, NextProducerContinuesAfterThePreviousOne) {
  CreateTopic("orders");
  Start();
  ProduceKeys({"a"});
  WaitForDeliveries(1);
  Start();
  ProduceKeys({"b"});
  WaitForDeliveries(2);
  EXPECT_THAT(StoredKeys("orders"), ElementsAre("a", "b"));
}

}  // namespace
}  // namespace walrelay
