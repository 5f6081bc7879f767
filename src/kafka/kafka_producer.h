// KafkaProducer: the real Producer, over librdkafka's C API.
//
// Delivery reports come as events through the main queue, which signals an eventfd, and are taken
// by the owner's thread; librdkafka's own threads never run code of the relay but its log callback.
#pragma once

#include <librdkafka/rdkafka.h>

#include <memory>
#include <string>
#include <vector>

#include "base/string_hash.h"
#include "base/system_clock.h"
#include "base/unique_fd.h"
#include "kafka/handles.h"
#include "kafka/partition_gate.h"
#include "kafka/partitioner.h"
#include "kafka/topic_primer.h"
#include "walrelay/producer.h"

namespace walrelay {

class KafkaProducer final : public Producer {
 public:
  struct Options {
    bool delivery_details = false;  // fill the headers of a Delivery
  };

  static absl::StatusOr<std::unique_ptr<Producer>> Create(KafkaConf conf, const Options& options);
  // Forgets what is undelivered; returns when librdkafka's threads have ended.
  ~KafkaProducer() override;

  absl::StatusOr<Produced> Produce(const Record& record, DeliveryToken token) override;
  void Poll(DeliverySink& sink) override;
  absl::Status Health() const override;
  absl::Status Trouble() const override { return trouble_; }
  int poll_fd() const override { return wakeup_.get(); }

 private:
  struct Topic {
    enum class State { kAsked, kReady, kFailed };

    std::string name;
    KafkaTopic handle;
    State state = State::kAsked;
    absl::Status error;
    int32_t partitions = 0;  // when last seen
    PartitionGate gate;
  };

  KafkaProducer(KafkaClient client, UniqueFd wakeup, const Options& options);

  Topic& FindTopic(std::string_view name);
  void TakeTopicAnswers();
  void TakeReports(rd_kafka_event_t* event, DeliverySink& sink);
  void Report(const rd_kafka_message_t& message, DeliverySink& sink);
  void NoticeError(rd_kafka_event_t* event);
  void NoticeFatal();
  absl::StatusOr<Produced> Enqueue(const Record& record, DeliveryToken token, Topic& topic);
  rd_kafka_resp_err_t Hand(const Record& record, DeliveryToken token, const Topic& topic,
                           PartitionChoice& choice);
  absl::StatusOr<Produced> ProduceError(rd_kafka_resp_err_t error, const Record& record);
  std::span<const Header> HeadersOf(const rd_kafka_message_t& message);

  // Destroyed from the bottom up: topics and queue before the client.
  const Options options_;
  UniqueFd wakeup_;
  KafkaClient client_;
  KafkaQueue queue_;
  StringMap<std::unique_ptr<Topic>> topics_;
  Topic* last_topic_ = nullptr;  // most records go where the one before went
  absl::Status fatal_;           // why the client will never deliver again
  bool failure_reported_ = false;
  absl::Status trouble_;
  std::vector<Header> headers_;
  const SystemClock clock_;
  MonoTime now_ = clock_.Now();  // at the last Poll()
  TopicPrimer primer_;
};

}  // namespace walrelay
