// Positions in headers, and events that are skipped because the topics have them already.

#include <gtest/gtest.h>

#include <set>

#include "encode/position_header.h"
#include "fakes/kafka_fixture.h"
#include "sinks/kafka/producer/kafka_producer.h"

namespace walrelay {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;

constexpr uint64_t kHistory = 0xA1;
constexpr uint32_t kRouting = 7;

WalHistory HistoryWith(uint64_t id, uint32_t routing = kRouting) {
  return {.parts = {{id, Lsn(UINT64_MAX)}}, .routing = routing};
}

class StoredEventsOfTopicsTest : public testing::ProducerFixture {
 protected:
  // The next producer, after a restart of the process.
  void Restart(const WalHistory& history = HistoryWith(kHistory)) {
    Start(history, KafkaProducer::OptionsFor(config_.kafka));
  }
  void Start(const WalHistory& history, const KafkaProducer::Options& options) {
    producer_.reset();
    ProducerFixture::Start(options);
    producer_->positions()->SkipStored(history);
    routing_ = history.routing;
    history_ = history.current();
  }

  RecordPosition At(uint64_t lsn, uint32_t row = 1) const {
    return {
        .position = {Lsn(lsn), Lsn(1), row}, .xid = 9, .history = history_, .routing = routing_};
  }
  absl::StatusOr<Offered> OfferAt(uint64_t lsn, int32_t partition = 0,
                                  std::string_view topic = "orders") {
    const std::string key = std::to_string(lsn);
    return Offer({.topic = topic, .key = key, .partition = partition, .position = At(lsn)});
  }
  // Events from one transaction each.
  void Publish(const std::vector<uint64_t>& events, int32_t partition = 0) {
    for (const uint64_t lsn : events) {
      EXPECT_THAT(OfferAt(lsn, partition), IsOkAndHolds(Wait::kNone)) << lsn;
      WaitForDeliveries(delivered_.size() + 1);
    }
  }
  void ExpectStored(const std::vector<uint64_t>& events, int32_t partition = 0) {
    for (const uint64_t lsn : events) {
      EXPECT_THAT(OfferAt(lsn, partition), IsOkAndHolds(Offered::Stored())) << lsn;
    }
  }
  // Records of "orders" without a position.
  void PublishForeign(size_t count) {
    for (size_t i = 0; i < count; ++i) {
      Produce({.topic = "orders", .key = "foreign", .partition = 0});
      WaitForDeliveries(delivered_.size() + 1);
    }
  }
  static std::string Encoded(const RecordPosition& position, uint32_t partitions) {
    const auto bytes = EncodePosition(position, {"orders", 0, partitions});
    return {bytes.begin(), bytes.end()};
  }

  uint64_t history_ = kHistory;
  uint32_t routing_ = kRouting;
};

TEST_F(StoredEventsOfTopicsTest, HeaderFollowsThoseOfTheRecord) {
  CreateTopic("orders", 3);
  Restart();
  const Header header{"id", "1"};
  Produce({.topic = "orders", .headers = {&header, 1}, .partition = 0, .position = At(10, 4)});
  WaitForDeliveries(1);
  EXPECT_THAT(Stored("orders").at(0).headers,
              ElementsAre(Pair("id", "1"), Pair("wr-pos", Encoded(At(10, 4), 3))));
}

TEST_F(StoredEventsOfTopicsTest, WithoutSkippingThePositionIsIgnored) {
  CreateTopic("orders");
  ProducerFixture::Start(KafkaProducer::OptionsFor(config_.kafka));
  Publish({10, 10});
  for (const StoredRecord& record : Stored("orders")) {
    EXPECT_THAT(record.headers, IsEmpty());
  }
}

TEST_F(StoredEventsOfTopicsTest, RecordWithoutAPositionHasNoHeader) {
  CreateTopic("orders");
  Restart();
  Publish({10});
  PublishForeign(2);
  EXPECT_THAT(Stored("orders").at(1).headers, IsEmpty());
}

// The names of headers come from rows.
TEST_F(StoredEventsOfTopicsTest, RowCannotChooseItsPosition) {
  CreateTopic("orders");
  Restart();
  const std::string chosen = Encoded(At(1000), 1);
  const Header header{"wr-pos", chosen};
  for (const auto& position : {std::optional(At(10)), std::optional<RecordPosition>()}) {
    Produce({.topic = "orders", .headers = {&header, 1}, .position = position});
    WaitForDeliveries(delivered_.size() + 1);
  }
  Restart();
  ExpectStored({10});
  Publish({11});
}

// The in-flight window releases what it counted.
TEST_F(StoredEventsOfTopicsTest, HeaderDoesNotCountAsBytesOfTheRecord) {
  CreateTopic("orders");
  Restart();
  const Header plain[] = {{"id", "1"}};
  const Header chosen[] = {{"id", "1"}, {"wr-pos", "12345678901234567890123456789012"}};
  std::vector<size_t> bytes;
  for (const auto headers : {std::span<const Header>(), std::span<const Header>(plain),
                             std::span<const Header>(chosen)}) {
    for (const auto& position : {std::optional(At(10)), std::optional<RecordPosition>()}) {
      const Record record{.topic = "orders", .key = "k", .headers = headers, .position = position};
      Produce(record);
      bytes.push_back(record.window_bytes());
      WaitForDeliveries(bytes.size());
      EXPECT_EQ(delivered_.back().bytes, bytes.back()) << bytes.size();
    }
  }
}

TEST_F(StoredEventsOfTopicsTest, EventsOfThePreviousProducerAreSkipped) {
  CreateTopic("orders");
  Restart();
  Publish({10, 20, 30});
  Restart();
  ExpectStored({10, 20, 30});
  Publish({40});
  EXPECT_THAT(StoredKeys("orders"), ElementsAre("10", "20", "30", "40"));
}

TEST_F(StoredEventsOfTopicsTest, RestOfATransactionIsSent) {
  CreateTopic("orders");
  Restart();
  const auto offer = [this](uint32_t row) {
    return Offer({.topic = "orders", .position = At(10, row)});
  };
  EXPECT_THAT(offer(1), IsOkAndHolds(Wait::kNone));
  WaitForDeliveries(1);
  Restart();
  EXPECT_THAT(offer(1), IsOkAndHolds(Offered::Stored()));
  EXPECT_THAT(offer(2), IsOkAndHolds(Wait::kNone));
  WaitForDeliveries(2);
}

// The numbers of transactions differ after a restart.
TEST_F(StoredEventsOfTopicsTest, EventsWithoutAKeyKeepTheirPartition) {
  CreateTopic("orders", 4);
  Restart();
  std::set<int32_t> partitions;
  const auto offer = [this](uint64_t lsn, uint32_t row, uint32_t transaction) {
    return Offer({.topic = "orders", .position = At(lsn, row)}, {transaction, 1});
  };
  for (uint32_t transaction = 1; transaction <= 16; ++transaction) {
    std::set<int32_t> together;
    for (const uint32_t row : {1u, 2u}) {
      EXPECT_THAT(offer(transaction * 8, row, transaction), IsOkAndHolds(Wait::kNone));
      WaitForDeliveries(delivered_.size() + 1);
      together.insert(delivered_.back().partition);
    }
    EXPECT_EQ(together.size(), 1u) << transaction;
    partitions.merge(together);
  }
  EXPECT_EQ(partitions.size(), 4u);
  Restart();
  for (uint32_t transaction = 1; transaction <= 16; ++transaction) {
    EXPECT_THAT(offer(transaction * 8, 2, transaction + 101), IsOkAndHolds(Offered::Stored()));
  }
}

// Such a record may have become a dead letter, which the topic does not show.
TEST_F(StoredEventsOfTopicsTest, RecordAboveTheLimitIsRefusedAgain) {
  config_.kafka.max_record_bytes = 10'000;
  CreateTopic("orders");
  Restart();
  const std::string large(10'001, 'x');
  const Record record{.topic = "orders", .key = "k", .value = large, .position = At(10)};
  EXPECT_THAT(Offer(record), HasError(ErrorCode::kRecordTooLarge));
  Publish({20});
  Restart();
  ExpectStored({20});
  EXPECT_THAT(Offer(record), HasError(ErrorCode::kRecordTooLarge));
}

TEST_F(StoredEventsOfTopicsTest, SkippedEventDoesNotWaitForTheGate) {
  CreateTopic("orders");
  Restart();
  Publish({10});
  Restart();
  ExpectStored({10});
  StopBrokers();
  EXPECT_THAT(OfferAt(20), IsOkAndHolds(Wait::kNone));
  const Record next{.topic = "orders", .partition = 0, .position = At(30)};
  EXPECT_THAT(producer_->Produce(next, {1, 1}), IsOkAndHolds(Wait::kQueue));
  EXPECT_THAT(OfferAt(10), IsOkAndHolds(Offered::Stored()));
  StartBrokers();
}

TEST_F(StoredEventsOfTopicsTest, EventsOfAnotherHistoryAreSent) {
  CreateTopic("orders");
  Restart();
  Publish({10, 20, 30});
  Restart(HistoryWith(kHistory + 1));
  Publish({10, 20, 30});
}

TEST_F(StoredEventsOfTopicsTest, EventsOfAnotherRoutingAreSent) {
  CreateTopic("orders");
  Restart();
  Publish({10, 20, 30});
  Restart(HistoryWith(kHistory, kRouting + 1));
  Publish({10, 20, 30});
}

TEST_F(StoredEventsOfTopicsTest, EventIsComparedOnlyWithinTheHistoryThatWasRead) {
  CreateTopic("orders");
  Restart();
  Publish({10});
  Restart();
  ExpectStored({10});
  producer_->positions()->SkipStored(HistoryWith(kHistory + 1));  // too late
  history_ = kHistory + 1;
  Publish({10});
}

TEST_F(StoredEventsOfTopicsTest, ForeignRecordsDoNotHideOurs) {
  CreateTopic("orders");
  Restart();
  Publish({10, 20});
  PublishForeign(5);
  Restart();
  ExpectStored({10, 20});
  Publish({30});
}

TEST_F(StoredEventsOfTopicsTest, EachPartitionHasItsOwnEvents) {
  CreateTopic("orders", 2);
  Restart();
  Publish({10, 40}, 0);
  Publish({20}, 1);
  Restart();
  ExpectStored({10, 40}, 0);
  ExpectStored({20}, 1);
  Publish({30}, 1);
}

TEST_F(StoredEventsOfTopicsTest, EachTopicIsReadBeforeItsFirstRecord) {
  CreateTopic("orders");
  CreateTopic("users");
  Restart();
  Publish({20});
  EXPECT_THAT(OfferAt(10, 0, "users"), IsOkAndHolds(Wait::kNone));
  WaitForDeliveries(2);
  Restart();
  ExpectStored({20});
  EXPECT_THAT(OfferAt(10, 0, "users"), IsOkAndHolds(Offered::Stored()));
  EXPECT_THAT(OfferAt(15, 0, "users"), IsOkAndHolds(Wait::kNone));
  WaitForDeliveries(3);
}

TEST_F(StoredEventsOfTopicsTest, TopicThatIsCreatedOnDemandHasNoEvents) {
  Restart();
  Publish({10});
  Restart();
  ExpectStored({10});
}

// If it appears again, it is another topic.
TEST_F(StoredEventsOfTopicsTest, NothingIsSkippedInATopicThatWasMissing) {
  CreateTopic("orders");
  Restart();
  Publish({10, 20});
  Restart();
  ExpectStored({10});
  Publish({30});
  SetTopicError("orders", RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART);
  EXPECT_THAT(OfferAt(40, /*partition=*/7), HasError(ErrorCode::kTopicUnknown));
  SetTopicError("orders", RD_KAFKA_RESP_ERR_NO_ERROR);
  absl::StatusOr<Offered> result = OfferAt(20);
  if (!result.ok()) {
    result = OfferAt(20);  // the previous answer of the brokers
  }
  EXPECT_THAT(result, IsOkAndHolds(Wait::kNone));
}

TEST_F(StoredEventsOfTopicsTest, OtherTransactionAtTheSamePositionIsAnError) {
  CreateTopic("orders");
  Restart();
  Publish({10});
  Restart();
  RecordPosition other = At(10);
  other.xid = 10;
  EXPECT_THAT(Offer({.topic = "orders", .position = other}),
              HasError(ErrorCode::kHistoryRewritten));
  EXPECT_THAT(producer_->FatalError(), IsOk());
}

TEST_F(StoredEventsOfTopicsTest, WithoutAConsumerNothingIsSkipped) {
  CreateTopic("orders");
  Restart();
  Publish({10});
  Start(HistoryWith(kHistory), {});
  Publish({10});
  EXPECT_EQ(Stored("orders").at(1).headers.size(), 1u);
}

TEST_F(StoredEventsOfTopicsTest, EndThatCannotBeReadSkipsNothing) {
  CreateTopic("orders");
  Restart();
  Publish({10});
  KafkaProducer::Options options = KafkaProducer::OptionsFor(config_.kafka);
  options.consumer_conf = []() -> absl::StatusOr<KafkaConf> {
    return Error(ErrorCode::kKafkaConfiguration, "no password");
  };
  Start(HistoryWith(kHistory), options);
  Publish({10});
}

TEST_F(StoredEventsOfTopicsTest, ProducerEndsWhileAnEndIsRead) {
  CreateTopic("orders");
  Restart();
  Publish({10});
  Reaper reaper;
  KafkaProducer::Options options = KafkaProducer::OptionsFor(config_.kafka);
  options.reaper = &reaper;
  Start(HistoryWith(kHistory), options);
  const Record record{.topic = "orders", .position = At(10)};
  EXPECT_TRUE(PollUntil([&] {
    EXPECT_THAT(producer_->Produce(record, {1, 1}), IsOkAndHolds(Wait::kTopic));
    return true;
  }));
  producer_.reset();
  EXPECT_TRUE(reaper.Wait(testing::kTimeout));
}

}  // namespace
}  // namespace walrelay
