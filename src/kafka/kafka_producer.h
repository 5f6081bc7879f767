// KafkaProducer: the Producer implementation over librdkafka's C API.
//
// Delivery reports arrive as events in the main queue, which signals an eventfd; the owner's thread
// processes them. librdkafka's own threads run no code of the relay except its log callback.
//
// The partition of each record is chosen here (TopicPartitions): librdkafka would apply a changed
// partition count on its own, between two records of a key.
//
// With a Reaper, destruction does not block: undelivered records are discarded at once, and the
// client's threads end later.
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
    // Checked while the producer lives; "" if the password is not in a file. Certificates are
    // checked in any case.
    std::string password_file;
    std::string key_password_file;
    Micros look_interval = std::chrono::seconds(2);
    // Of topics in use; topic.metadata.refresh.interval.ms if that is less.
    Micros refresh_interval = std::chrono::minutes(1);
    Micros login_patience = std::chrono::seconds(30);  // after a refused login: Outdated()
    Reaper* reaper = nullptr;                          // must outlive the producer
    std::function<void()> on_partitions_changed;       // to count the changes; may be empty
  };
  // The files named by `kafka`.
  static Options OptionsFor(const KafkaConfig& kafka);

  static absl::StatusOr<std::unique_ptr<Producer>> Create(KafkaConf conf, const Options& options);
  // Discards undelivered records. Without a reaper it returns when librdkafka's threads have ended.
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
    bool just_answered = false;  // no record was accepted since the last metadata answer
    TopicPartitions partitions;
  };

  // Everything that ends with the client, and is passed to the reaper. Destroyed in reverse order:
  // topics and queue before the client, and first of all the objects that use the client on their
  // own threads.
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
  Topic* last_topic_ = nullptr;  // most records have the topic of their predecessor
  absl::Status fatal_;           // why the client has failed permanently
  absl::Status trouble_;
  bool reachable_ = true;
  std::optional<MonoTime> login_refused_since_;
  bool produced_ = false;        // since the last refresh
  bool refresh_wanted_ = false;  // an error was reported that may mean a change of leader
  std::vector<Header> headers_;
  const SystemClock clock_;
  MonoTime now_ = clock_.Now();  // at the last Poll()
  MonoTime refreshed_ = now_;
};

}  // namespace walrelay
