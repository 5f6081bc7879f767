// KafkaProducer: the real Producer, over librdkafka's C API.
//
// Delivery reports come as events through the main queue, which signals an eventfd, and are taken
// by the owner's thread; librdkafka's own threads run no code of the relay but its log callback.
//
// The partition of each record is chosen here (TopicPartitions): librdkafka would take a changed
// count into use by itself, between two records of a key.
//
// Destroying it takes no time where it has a Reaper: what was not delivered is forgotten at once,
// the client's threads end later.
#pragma once

#include <librdkafka/rdkafka.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/string_hash.h"
#include "base/system_clock.h"
#include "base/unique_fd.h"
#include "kafka/credential_watch.h"
#include "kafka/handles.h"
#include "kafka/reaper.h"
#include "kafka/topic_partitions.h"
#include "kafka/topic_primer.h"
#include "walrelay/config.h"
#include "walrelay/producer.h"

namespace walrelay {

class KafkaProducer final : public Producer {
 public:
  struct Options {
    bool delivery_details = false;  // fill the headers of a Delivery
    // Looked at while the producer lives; "" where the password is no file. Certificates are looked
    // at whatever is here.
    std::string password_file;
    std::string key_password_file;
    Micros look_interval = std::chrono::seconds(2);
    // Of topics that are produced to; topic.metadata.refresh.interval.ms where that is less.
    Micros refresh_interval = std::chrono::minutes(1);
    Micros login_patience = std::chrono::seconds(30);  // after a refused login: Outdated()
    Reaper* reaper = nullptr;                          // must outlive the producer
    std::function<void()> on_partitions_changed;       // to count them; may be empty
  };
  // The files that `kafka` names.
  static Options OptionsFor(const KafkaConfig& kafka);

  static absl::StatusOr<std::unique_ptr<Producer>> Create(KafkaConf conf, const Options& options);
  // Forgets what is undelivered. Without a reaper it returns when librdkafka's threads have ended.
  ~KafkaProducer() override;

  absl::StatusOr<Produced> Produce(const Record& record, DeliveryToken token) override;
  void Poll(DeliverySink& sink) override;
  absl::Status Health() const override { return fatal_; }
  void GiveUp() override;
  absl::Status Trouble() const override { return trouble_; }
  bool Reachable() const override { return reachable_; }
  bool Outdated() const override;
  int poll_fd() const override { return client_->wakeup.get(); }

 private:
  struct Topic {
    enum class State { kAsked, kReady, kFailed };

    std::string name;
    KafkaTopic handle;
    State state = State::kAsked;
    absl::Status error;
    bool just_answered = false;  // no record was accepted since the brokers described it
    TopicPartitions partitions;
  };

  // What ends with the client, and is handed to the reaper. Destroyed from the bottom up: topics
  // and queue before the client, and first of all what uses it on threads of its own.
  struct Client {
    UniqueFd wakeup;
    KafkaClient handle;
    KafkaQueue queue;
    StringMap<std::unique_ptr<Topic>> topics;
    std::unique_ptr<CredentialWatch> credentials;
    std::unique_ptr<TopicPrimer> primer;
  };

  KafkaProducer(std::unique_ptr<Client> client, const Options& options);

  Topic& FindTopic(std::string_view name);
  void AskAbout(Topic& topic);
  void TakeTopicAnswers();
  void TakeAnswer(const TopicPrimer::Answer& answer, Topic& topic);
  void TakeCountChange(Topic& topic);
  void RefreshTopics();
  void TakeReports(rd_kafka_event_t* event, DeliverySink& sink);
  void Report(const rd_kafka_message_t& message, DeliverySink& sink);
  void ReportFailure(const rd_kafka_message_t& message, DeliverySink& sink);
  void NoticeError(rd_kafka_event_t* event);
  void NoticeFatal();
  absl::StatusOr<Produced> Enqueue(const Record& record, DeliveryToken token, Topic& topic);
  absl::StatusOr<Produced> NoSuchPartition(const Record& record, int32_t partition, Topic& topic);
  rd_kafka_resp_err_t Hand(const Record& record, DeliveryToken token, const Topic& topic,
                           int32_t partition);
  absl::StatusOr<Produced> ProduceError(rd_kafka_resp_err_t error, const Record& record,
                                        int32_t partition, Topic& topic);
  std::span<const Header> HeadersOf(const rd_kafka_message_t& message);

  const Options options_;
  std::unique_ptr<Client> client_;
  Topic* last_topic_ = nullptr;  // most records go where the one before went
  absl::Status fatal_;           // why the client will never deliver again
  absl::Status trouble_;
  bool reachable_ = true;
  std::optional<MonoTime> login_refused_since_;
  bool produced_ = false;        // since the last refresh
  bool refresh_wanted_ = false;  // something was heard that may come of another leader
  std::vector<Header> headers_;
  const SystemClock clock_;
  MonoTime now_ = clock_.Now();  // at the last Poll()
  MonoTime refreshed_ = now_;
};

}  // namespace walrelay
