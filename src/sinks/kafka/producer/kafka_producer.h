// KafkaProducer: the Sink implementation over librdkafka's C API.
//
// Delivery reports arrive as events in the main queue, which signals an eventfd; the owner's thread
// processes them. librdkafka's own threads run no code of the relay except its log callback.
//
// The partition of each record is chosen here, from the count that TopicTable keeps: librdkafka
// would apply a changed partition count on its own, between two records of a key.
//
// With a Reaper, destruction does not block: undelivered records are discarded at once, and the
// client's threads end later.
//
// With a transactional id in its configuration, records are part of transactions.
//
// Threads: as Sink. CredentialWatch, TopicMetadataFetcher, TailReader and TransactionThread
// have threads of their own.
#pragma once

#include <librdkafka/rdkafka.h>

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/system_clock.h"
#include "base/unique_fd.h"
#include "encode/position_header.h"
#include "sinks/kafka/client/client_health.h"
#include "sinks/kafka/client/credential_watch.h"
#include "sinks/kafka/client/handles.h"
#include "sinks/kafka/client/reaper.h"
#include "sinks/kafka/producer/acknowledgement_times.h"
#include "sinks/kafka/producer/client_examiner.h"
#include "sinks/kafka/producer/producer_transaction.h"
#include "sinks/kafka/producer/request_watch.h"
#include "sinks/kafka/producer/topic_metadata_fetcher.h"
#include "sinks/kafka/producer/topic_table.h"
#include "sinks/kafka/producer/transaction_thread.h"
#include "sinks/kafka/topics/tail_reader.h"
#include "sinks/kafka/topics/topic_creator.h"
#include "walrelay/config/kafka.h"
#include "walrelay/sink.h"

namespace walrelay {

class KafkaProducer final : public Sink, public Transactions, public Positions, public Examiner {
 public:
  // Durations are those between checks. The callbacks are called on the owner's thread, inside
  // Poll().
  struct Options {
    bool delivery_details = false;  // fill the headers of a Delivery
    // Checked while the producer lives; "" if the password is not in a file. Certificates are
    // checked in any case.
    std::string password_file;
    std::string key_password_file;
    Micros sample_interval = std::chrono::seconds(2);
    // Between refreshes of the metadata of topics in use; topic.metadata.refresh.interval.ms if
    // that is less.
    Micros refresh_interval = std::chrono::minutes(1);
    Micros login_grace = std::chrono::seconds(30);  // after a refused login: SinkHealth::outdated
    // Log a topic that deletes the first record of this producer at once, because of its time.
    bool warn_of_deletion = false;
    Reaper* reaper = nullptr;  // must outlive the producer
    TopicsConfig topics;       // who creates missing topics, and how
    // Makes the settings of other clients. Empty: SkipStored() skips nothing, and Examine() finds
    // out nothing.
    TailReader::ConfFactory consumer_conf;
    // The progress record that a producer with a transactional id reads after the claim.
    ProgressAddress progress;
    std::function<absl::StatusOr<KafkaConf>()> progress_conf;  // MakeProgressConf()
    Micros commit_limit = std::chrono::seconds(10);            // see SinkRequest
    // Only for tests, which show what happens then: a delayed EndTxn ends another transaction.
    bool reuse_after_repeated_commit = false;
    std::function<void()> on_partitions_changed;  // to count the changes; may be empty
    std::function<void()> on_topic_created;       // to count the topics; may be empty
  };
  // The files and the rules for topics of `kafka`.
  // Everything else keeps its default; the caller sets reaper and callbacks.
  static Options OptionsFor(const KafkaConfig& kafka);

  // Starts a client; does not wait for a broker. Errors: WR-4006 for a configuration that
  // librdkafka rejects.
  // WR-5001 if no eventfd is available. Takes `conf`, also after an error; `options` is copied.
  static absl::StatusOr<std::unique_ptr<Sink>> Create(KafkaConf conf, const Options& options);
  // Discards undelivered records. Without a reaper it returns when librdkafka's threads have ended.
  ~KafkaProducer() override;

  absl::StatusOr<Offered> Produce(const Record& record, DeliveryToken token) override;
  bool Announce(std::string_view topic) override;
  void Poll(DeliveryListener& listener) override;
  absl::Status FatalError() const override { return health_.fatal(); }
  void AbandonUndelivered() override;
  SinkHealth health() const override;
  std::string ClusterId() const override;
  int poll_fd() const override { return client_->wakeup.get(); }
  Transactions* transactions() override { return transaction_ != nullptr ? this : nullptr; }
  Positions* positions() override { return this; }
  Examiner* examiner() override { return this; }

  // --- Transactions. REQUIRES: transactions() is not nullptr.

  std::optional<Claim> TakeClaim() override;
  void Commit() override;

  // --- Positions

  // Only the first call counts: an event of another history is never skipped.
  void SkipStored(const WalHistory& history) override;

  // --- Examiner

  std::optional<MonoTime> acknowledged_at() const override { return acknowledged_at_; }
  Micros request_timeout() const override { return request_timeout_; }
  void Examine() override;
  std::optional<Examination> TakeExamination() override;

 private:
  // Everything that ends with the client, and is passed to the reaper. Destroyed in reverse order:
  // topics and queue before the client, and first of all the objects that use the client on their
  // own threads.
  struct Client {
    UniqueFd wakeup;
    RequestWatch watch;                     // with transactions
    AcknowledgementTimes acknowledgements;  // without
    KafkaClient handle;
    KafkaQueue queue;
    std::unique_ptr<TopicCreator> creator;
    std::unique_ptr<TopicTable> topics;
    std::unique_ptr<CredentialWatch> credentials;
    std::unique_ptr<TopicMetadataFetcher> metadata_fetcher;
    std::unique_ptr<TailReader> tails;                // nullptr: nothing is skipped
    std::unique_ptr<TransactionThread> transactions;  // nullptr: without transactions
    std::unique_ptr<ClientExaminer> examiner;         // nullptr: without a configuration for it
  };

  // A copy of a progress record.
  struct HeldRecord {
    TopicTable::Topic* topic = nullptr;
    std::string key;
    std::string value;
    std::vector<std::pair<std::string, std::string>> headers;
    int32_t partition = 0;
  };

  KafkaProducer(std::unique_ptr<Client> client, const Options& options, size_t max_record_bytes,
                Micros request_timeout);

  Offered HoldBack(const Record& record, TopicTable::Topic& topic);
  void SendHeldBack();
  absl::StatusOr<Offered> Enqueue(const Record& record, DeliveryToken token,
                                  TopicTable::Topic& topic);
  bool Outdated() const;
  bool AwaitsTail(TopicTable::Topic& topic);
  absl::StatusOr<bool> IsStored(const Record& record, const TopicTable::Topic& topic,
                                int32_t partition) const;
  std::string_view AddedHeader() const { return history_ ? kPositionHeader : std::string_view(); }
  rd_kafka_resp_err_t Call(const Record& record, DeliveryToken token, int32_t partition,
                           const TopicTable::Topic& topic);
  absl::StatusOr<Offered> ProduceError(rd_kafka_resp_err_t error, const Record& record,
                                       int32_t partition, TopicTable::Topic& topic);
  void OnFirstRecord(const Record& record, const TopicTable::Topic& topic);
  void OnSettings(rd_kafka_event_t* event);
  void ApplyMetadata();
  void ApplyTails();
  void DrainReports(rd_kafka_event_t* event, DeliveryListener& listener);
  void Report(const rd_kafka_message_t& message, DeliveryListener& listener);
  void ReportFailure(const rd_kafka_message_t& message, DeliveryListener& listener);
  void OnEvent(rd_kafka_event_t* event, DeliveryListener& listener);
  void OnErrorEvent(rd_kafka_event_t* event);
  void Purge();

  const Options options_;
  const size_t max_record_bytes_;  // message.max.bytes
  const Micros request_timeout_;   // socket.timeout.ms
  std::unique_ptr<Client> client_;
  ClientHealth health_;
  std::unique_ptr<ProducerTransaction> transaction_;  // nullptr: without transactions
  std::optional<HeldRecord> held_;     // the progress record, see ProducerTransaction
  std::optional<WalHistory> history_;  // nullopt: records get no positions
  std::vector<Header> headers_;        // of the report that is being passed on
  const SystemClock clock_;
  MonoTime now_ = clock_.Now();  // at the last Poll()
  std::optional<MonoTime> acknowledged_at_;
  // The ages of the first records of topics, which are compared with the topics' settings.
  std::map<std::string, Micros> first_ages_;
};

}  // namespace walrelay
