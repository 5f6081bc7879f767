// The mock cluster has no in-sync replicas that lag, no settings and no rights: that a partition
// with too few replicas does not count is tested as a function of numbers.

#include "sinks/kafka/topics/tail_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/eventfd.h>

#include "base/unique_fd.h"
#include "encode/position_header.h"
#include "fakes/kafka_fixture.h"

namespace walrelay {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::kTimeout;

constexpr uint64_t kHistory = 0xA1;
constexpr uint32_t kRouting = 7;

RecordPosition At(uint64_t lsn) {
  return {.position = {Lsn(lsn), Lsn(1), 1}, .xid = 9, .history = kHistory, .routing = kRouting};
}

class TailReaderTest : public testing::ProducerFixture {
 protected:
  // One record of "orders" with this value as its position.
  void StoreHeader(const std::optional<std::string>& value, int32_t partition = 0,
                   const std::string& name = "wr-pos") {
    const Header header{name, value};
    Store({.topic = "orders", .headers = {&header, 1}, .partition = partition});
  }
  void StorePosition(const RecordPosition& position, int32_t partition = 0,
                     uint32_t partitions = 1) {
    StoreHeader(Encoded(position, partition, partitions), partition);
  }
  // Many records of another producer.
  void StoreForeign(int count) {
    for (int i = 0; i < count; ++i) {
      Produce({.topic = "orders", .value = "foreign", .partition = 0});
    }
    stored_ += static_cast<size_t>(count);
    WaitForDeliveries(stored_);
  }
  static std::string Encoded(const RecordPosition& position, int32_t partition = 0,
                             uint32_t partitions = 1) {
    const auto bytes = EncodePosition(position, {"orders", partition, partitions});
    return {bytes.begin(), bytes.end()};
  }

  void StartReader(const TailReader::Options& options = {}) {
    reader_ = std::make_unique<TailReader>([this] { return MakeConsumerConf(config_.kafka); },
                                           history_, wakeup_.get(), options);
  }
  TailReader::Result Await() {
    pollfd wakeup{wakeup_.get(), POLLIN, 0};
    EXPECT_EQ(::poll(&wakeup, 1, testing::kTimeoutMillis), 1);
    eventfd_t count = 0;
    eventfd_read(wakeup_.get(), &count);
    std::vector<TailReader::Result> results = reader_->DrainResults();
    EXPECT_EQ(results.size(), 1u);
    return results.empty() ? TailReader::Result() : std::move(results[0]);
  }
  TailReader::Result Read(int32_t partitions = 1) {
    if (reader_ == nullptr) {
      StartReader();
    }
    reader_->Request("orders", partitions);
    return Await();
  }
  // The last position in each partition; 0/0 if there is none.
  static std::vector<Lsn> LastOf(const TailReader::Result& result) {
    std::vector<Lsn> last;
    for (const StoredEvents& partition : result.partitions) {
      last.push_back(partition.last() ? partition.last()->commit_lsn : Lsn());
    }
    return last;
  }
  std::vector<Lsn> Last(int32_t partitions = 1) {
    const TailReader::Result result = Read(partitions);
    EXPECT_EQ(result.topic, "orders");
    EXPECT_EQ(result.trouble, "");
    return LastOf(result);
  }

  WalHistory history_{.parts = {{kHistory, Lsn(UINT64_MAX)}}, .routing = kRouting};
  const UniqueFd wakeup_{eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)};
  std::unique_ptr<TailReader> reader_;

 private:
  void Store(const Record& record) {
    if (producer_ == nullptr) {
      Start();
    }
    Produce(record);
    WaitForDeliveries(++stored_);
  }

  size_t stored_ = 0;
};

TEST_F(TailReaderTest, EmptyTopicHasNoEvents) {
  CreateTopic("orders", 2);
  EXPECT_THAT(Last(2), ElementsAre(Lsn(), Lsn()));
}

TEST_F(TailReaderTest, EachPartitionHasItsOwnPosition) {
  CreateTopic("orders", 3);
  StorePosition(At(10), 0, 3);
  StorePosition(At(30), 0, 3);
  StorePosition(At(20), 2, 3);
  EXPECT_THAT(Last(3), ElementsAre(Lsn(30), Lsn(), Lsn(20)));
}

TEST_F(TailReaderTest, TheGreatestPositionCountsNotTheLast) {
  CreateTopic("orders");
  for (const uint64_t lsn : {10u, 30u, 20u}) {
    StorePosition(At(lsn));
  }
  EXPECT_THAT(Last(), ElementsAre(Lsn(30)));
}

TEST_F(TailReaderTest, RecordsWithoutAPositionAreIgnored) {
  CreateTopic("orders");
  StorePosition(At(10));
  StoreHeader("too short");
  StoreHeader(std::nullopt);
  StoreHeader(Encoded(At(90)), 0, "another");
  StorePosition(At(90), 0, 2);  // of another number of partitions
  StoreForeign(3);
  EXPECT_THAT(Last(), ElementsAre(Lsn(10)));
}

// The producer appends its header to those of the row.
TEST_F(TailReaderTest, TheLastHeaderOfARecordCounts) {
  CreateTopic("orders");
  Start();
  const std::string row = Encoded(At(90));
  const std::string own = Encoded(At(10));
  const Header headers[] = {{"wr-pos", row}, {"wr-pos", own}};
  Produce({.topic = "orders", .headers = headers});
  const Header null[] = {{"wr-pos", row}, {"wr-pos", std::nullopt}};
  Produce({.topic = "orders", .headers = null});
  WaitForDeliveries(2);
  EXPECT_THAT(Last(), ElementsAre(Lsn(10)));
}

TEST_F(TailReaderTest, OnlyTheLastRecordsOfAPartitionAreRead) {
  CreateTopic("orders");
  StorePosition(At(10));
  StoreForeign(TailReader::kTailRecords - 1);
  EXPECT_THAT(Last(), ElementsAre(Lsn(10)));
  StoreForeign(1);
  EXPECT_THAT(Last(), ElementsAre(Lsn()));
}

// As after a relay that caught up was killed: what is sent again begins far before the end.
TEST_F(TailReaderTest, OlderRecordsAreReadWhereTheyMayBeSentAgain) {
  CreateTopic("orders");
  StorePosition(At(10));
  StorePosition(At(20));
  StoreForeign(3 * TailReader::kTailRecords);
  StorePosition(At(30));
  history_.unpublished = Lsn(15);
  StartReader();
  TailReader::Result result = Read();
  EXPECT_EQ(result.trouble, "");
  EXPECT_EQ(*result.partitions[0].Contains(At(20)), true);
  EXPECT_EQ(*result.partitions[0].Contains(At(30)), true);
  // The stream begins behind all but the last record: no older one is needed.
  history_.unpublished = Lsn(31);
  StartReader();
  result = Read();
  EXPECT_EQ(*result.partitions[0].Contains(At(20)), false);
  EXPECT_EQ(*result.partitions[0].Contains(At(30)), true);
}

// Memory and time are bounded.
TEST_F(TailReaderTest, OlderRecordsAreReadUpToALimit) {
  CreateTopic("orders");
  StorePosition(At(20));
  StoreForeign(TailReader::kFurtherRecords + TailReader::kTailRecords - 1);
  StorePosition(At(30));
  history_.unpublished = Lsn(15);
  const TailReader::Result result = Read();
  EXPECT_EQ(result.trouble, "");
  EXPECT_EQ(*result.partitions[0].Contains(At(20)), false);
  EXPECT_EQ(*result.partitions[0].Contains(At(30)), true);
}

TEST_F(TailReaderTest, ReadersConsumerIsReusedAndClosedWhenIdle) {
  CreateTopic("orders");
  StorePosition(At(10));
  StartReader({.idle = std::chrono::milliseconds(1)});
  for (int i = 0; i < 3; ++i) {
    EXPECT_THAT(Last(), ElementsAre(Lsn(10)));
  }
  StartReader();
  for (int i = 0; i < 3; ++i) {
    EXPECT_THAT(Last(), ElementsAre(Lsn(10)));
  }
}

TEST_F(TailReaderTest, AnotherNumberOfPartitionsIsTrouble) {
  CreateTopic("orders", 2);
  StorePosition(At(10), 0, 2);
  StartReader();
  const TailReader::Result result = Read(3);
  EXPECT_THAT(result.trouble, HasSubstr("topic orders: 2 partitions, expected 3"));
  EXPECT_THAT(LastOf(result), ElementsAre(Lsn(), Lsn(), Lsn()));
}

TEST_F(TailReaderTest, DeniedTopicIsTrouble) {
  RefuseTopic("orders", RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED);
  EXPECT_THAT(Read().trouble, HasSubstr("orders"));
}

TEST_F(TailReaderTest, ConfigurationThatCannotBeReadIsTrouble) {
  reader_ = std::make_unique<TailReader>(
      []() -> absl::StatusOr<KafkaConf> {
        return Error(ErrorCode::kKafkaConfiguration, "no password");
      },
      history_, wakeup_.get());
  EXPECT_THAT(Read().trouble, HasSubstr("no password"));
}

TEST_F(TailReaderTest, DeadlineIsTrouble) {
  CreateTopic("orders");
  StorePosition(At(10));
  StopBrokers();
  StartReader({.timeout = std::chrono::milliseconds(300)});
  const TailReader::Result result = Read();
  EXPECT_NE(result.trouble, "");
  EXPECT_THAT(LastOf(result), ElementsAre(Lsn()));
}

TEST_F(TailReaderTest, AfterTroubleTheNextTopicIsRead) {
  CreateTopic("orders");
  StorePosition(At(10));
  StartReader();
  EXPECT_NE(Read(2).trouble, "");
  EXPECT_THAT(Last(), ElementsAre(Lsn(10)));
}

TEST_F(TailReaderTest, TopicsAreReadOneAfterAnother) {
  CreateTopic("orders");
  CreateTopic("users");
  StorePosition(At(10));
  StartReader();
  reader_->Request("users", 1);
  reader_->Request("orders", 1);
  std::vector<std::string> topics;
  while (topics.size() < 2) {
    pollfd wakeup{wakeup_.get(), POLLIN, 0};
    ASSERT_EQ(::poll(&wakeup, 1, testing::kTimeoutMillis), 1);
    for (const TailReader::Result& result : reader_->DrainResults()) {
      EXPECT_EQ(result.trouble, "");
      topics.push_back(result.topic);
    }
  }
  EXPECT_THAT(topics, ElementsAre("users", "orders"));
}

TEST_F(TailReaderTest, ReaderEndsDuringARequest) {
  CreateTopic("orders");
  StopBrokers();
  StartReader({.timeout = std::chrono::seconds(2)});
  reader_->Request("orders", 1);
  reader_->Stop();
  reader_.reset();
}

}  // namespace
}  // namespace walrelay
