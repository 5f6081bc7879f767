// Tests walrelay's producer against librdkafka's mock cluster, with failures injected by the test.
//
// The mock neither checks sequence numbers nor removes duplicates: a record that is sent twice is
// stored twice. Tests therefore check the order of stored records, not the absence of duplicates.
#pragma once

#include <gmock/gmock.h>
#include <poll.h>

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "fakes/status_matchers.h"
#include "sinks/kafka/admin/progress_topic.h"
#include "sinks/kafka/client/conf.h"
#include "sinks/kafka/mock/mock_cluster.h"
#include "sinks/kafka/producer/kafka_producer.h"
#include "sinks/kafka/topics/topic_reader.h"
#include "walrelay/config.h"
#include "walrelay/sink.h"

namespace walrelay::testing {

constexpr std::chrono::seconds kTimeout{30};  // only a broken test waits this long
constexpr int kTimeoutMillis = static_cast<int>(std::chrono::milliseconds(kTimeout).count());
constexpr int16_t kProduceRequest = 0;  // Kafka's api keys
constexpr int16_t kInitProducerIdRequest = 22;
constexpr int16_t kAddPartitionsRequest = 24;
constexpr int16_t kEndTxnRequest = 26;

// A cluster on loopback, and a configuration that connects to it.
class MockKafkaFixture : public ::testing::Test {
 protected:
  explicit MockKafkaFixture(int brokers = 1) {
    auto cluster = MockCluster::Start(brokers);
    EXPECT_THAT(cluster, IsOk());
    cluster_ = *std::move(cluster);
    config_.kafka.bootstrap_servers = cluster_->bootstrap_servers();
  }

  void CreateTopic(const std::string& topic, int partitions = 1) {
    cluster_->CreateTopic(topic, partitions);
  }
  // Metadata requests return `error` for the topic, until another error or none is set.
  void SetTopicError(const std::string& topic, rd_kafka_resp_err_t error) {
    rd_kafka_mock_topic_set_error(cluster_->get(), topic.c_str(), error);
  }
  // The same for an error that stays: the topic has no partitions, as in a broker's response.
  void RefuseTopic(const std::string& topic, rd_kafka_resp_err_t error) {
    CreateTopic(topic, 0);
    SetTopicError(topic, error);
  }
  // The next requests of this kind fail with `errors`, one each. __TRANSPORT cuts the connection.
  void FailNext(int16_t request, const std::vector<rd_kafka_resp_err_t>& errors) {
    rd_kafka_mock_push_request_errors_array(cluster_->get(), request, errors.size(), errors.data());
  }
  void ClearErrors(int16_t request) {
    rd_kafka_mock_clear_request_errors(cluster_->get(), request);
  }
  void StopBrokers() { rd_kafka_mock_broker_set_down(cluster_->get(), -1); }
  void StartBrokers() { rd_kafka_mock_broker_set_up(cluster_->get(), -1); }

  // All records of the topic.
  std::vector<StoredRecord> Stored(const std::string& topic) {
    auto records = ReadTopics(config_.kafka, {topic}, kTimeout);
    EXPECT_THAT(records, IsOk());
    return records.ok() ? *std::move(records) : std::vector<StoredRecord>();
  }
  std::vector<std::string> StoredKeys(const std::string& topic) {
    std::vector<std::string> keys;
    for (const StoredRecord& record : Stored(topic)) {
      keys.push_back(record.key.value_or("NULL"));
    }
    return keys;
  }

  Config config_;
  std::unique_ptr<MockCluster> cluster_;
};

class ProducerFixture : public MockKafkaFixture, private DeliveryListener {
 protected:
  explicit ProducerFixture(int brokers = 1) : MockKafkaFixture(brokers) {}

  struct Delivered {
    DeliveryToken token;
    size_t bytes;
    std::string topic;
    int32_t partition;
    int64_t offset;
    std::optional<std::string> key;
    std::vector<std::pair<std::string, std::optional<std::string>>> headers;
    Micros latency{0};
    Micros report_delay{0};
  };

  // Creates the producer with the current configuration.
  void Start(const KafkaProducer::Options& options = {}) {
    auto conf = MakeProducerConf(config_.kafka, config_.pipeline, config_.kafka.max_batch_bytes);
    ASSERT_THAT(conf, IsOk());
    auto producer = KafkaProducer::Create(*std::move(conf), options);
    ASSERT_THAT(producer, IsOk());
    producer_ = *std::move(producer);
  }

  // The same with transactions.
  void StartTransactions(KafkaProducer::Options options = {}) {
    auto conf = MakeProducerConf(config_.kafka, config_.pipeline, config_.kafka.max_batch_bytes,
                                 "walrelay.test");
    ASSERT_THAT(conf, IsOk());
    options.progress_conf = [this] { return MakeProgressConf(config_.kafka); };
    options.progress = {.topic = kProgressTopic, .pipeline = "test"};
    auto producer = KafkaProducer::Create(*std::move(conf), options);
    ASSERT_THAT(producer, IsOk());
    producer_ = *std::move(producer);
  }

  // Calls Produce() until the producer has accepted, skipped or rejected the record.
  absl::StatusOr<Offered> Offer(const Record& record, DeliveryToken token = {1, 1}) {
    absl::StatusOr<Offered> outcome = Wait::kTopic;
    EXPECT_TRUE(PollUntil([&] {
      outcome = producer_->Produce(record, token);
      return !outcome.ok() || *outcome == Wait::kNone || *outcome == Offered::Stored() ||
             !producer_->FatalError().ok();
    }));
    return outcome;
  }
  void Produce(const Record& record, DeliveryToken token = {1, 1}) {
    EXPECT_THAT(Offer(record, token), IsOkAndHolds(Wait::kNone));
  }
  // Produces one record per key, with tokens from 1.
  void ProduceKeys(const std::vector<std::string>& keys) {
    for (const std::string& key : keys) {
      Produce({.topic = "orders", .key = key, .value = "{}"}, {++last_token_, 1});
    }
  }

  void Poll() {
    producer_->Poll(*this);
    if (Transactions* transactions = producer_->transactions()) {
      if (auto claim = transactions->TakeClaim()) {
        claimed_ = std::move(claim->record);
      }
    }
  }
  // Polls until the condition holds; false after kTimeout.
  template <typename Condition>
  bool PollUntil(const Condition& condition) {
    const auto deadline = std::chrono::steady_clock::now() + kTimeout;
    while (true) {
      Poll();
      if (condition()) {
        return true;
      }
      if (std::chrono::steady_clock::now() > deadline) {
        return false;
      }
      pollfd wakeup{producer_->poll_fd(), POLLIN, 0};
      (void)::poll(&wakeup, 1, 20);
    }
  }
  void WaitForDeliveries(size_t count) {
    ASSERT_TRUE(PollUntil([&] { return delivered_.size() + failed_.size() >= count; }));
    EXPECT_EQ(delivered_.size(), count);
  }
  std::vector<std::string> DeliveredKeys() const {
    std::vector<std::string> keys;
    for (const Delivered& delivered : delivered_) {
      keys.push_back(delivered.key.value_or("NULL"));
    }
    return keys;
  }

  static constexpr const char* kProgressTopic = "walrelay.progress.test";

  std::unique_ptr<Sink> producer_;
  std::vector<Delivered> delivered_;
  std::vector<std::pair<DeliveryToken, absl::Status>> failed_;
  std::vector<bool> purged_;                        // of failed_
  std::optional<std::optional<Progress>> claimed_;  // nullopt: not yet

 private:
  void OnDelivered(const Delivery& delivery) override {
    Delivered copy{.token = delivery.token,
                   .bytes = delivery.bytes,
                   .topic = std::string(delivery.topic),
                   .partition = delivery.partition,
                   .offset = delivery.offset};
    copy.latency = delivery.latency;
    copy.report_delay = delivery.report_delay;
    copy.key = Copy(delivery.key);
    for (const Header& header : delivery.headers) {
      copy.headers.emplace_back(header.name, Copy(header.value));
    }
    delivered_.push_back(std::move(copy));
  }
  void OnFailed(const DeliveryFailure& failure) override {
    failed_.emplace_back(failure.token, failure.error);
    purged_.push_back(failure.purged);
  }
  static std::optional<std::string> Copy(std::optional<std::string_view> text) {
    return text ? std::optional(std::string(*text)) : std::nullopt;
  }

  uint32_t last_token_ = 0;
};

}  // namespace walrelay::testing
