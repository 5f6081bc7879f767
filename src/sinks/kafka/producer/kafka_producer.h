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
// Threads: as Sink. Members of the ProducerClient have threads of their own.
#pragma once

#include <librdkafka/rdkafka.h>

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/system_clock.h"
#include "encode/position_header.h"
#include "sinks/kafka/client/client_health.h"
#include "sinks/kafka/client/handles.h"
#include "sinks/kafka/producer/deletion_warning.h"
#include "sinks/kafka/producer/producer_options.h"
#include "sinks/kafka/producer/producer_transaction.h"
#include "sinks/kafka/producer/stored_records.h"
#include "sinks/kafka/producer/topic_table.h"
#include "walrelay/sink.h"

namespace walrelay {

struct KafkaConfig;
struct ProducerClient;

class KafkaProducer final : public Sink, public Transactions, public Positions, public Examiner {
 public:
  using Options = ProducerOptions;
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
  int poll_fd() const override;
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
  Micros request_timeout() const override;
  void Examine() override;
  std::optional<Examination> TakeExamination() override;

 private:
  // A copy of a progress record.
  struct HeldRecord {
    TopicTable::Topic* topic = nullptr;
    std::string key;
    std::string value;
    std::vector<std::pair<std::string, std::string>> headers;
    int32_t partition = 0;
  };

  KafkaProducer(std::unique_ptr<ProducerClient> client, const Options& options);

  Offered HoldBack(const Record& record, TopicTable::Topic& topic);
  void SendHeldBack();
  absl::StatusOr<Offered> Enqueue(const Record& record, DeliveryToken token,
                                  TopicTable::Topic& topic);
  bool Outdated() const;
  std::string_view AddedHeader() const {
    return stored_.begun() ? kPositionHeader : std::string_view();
  }
  rd_kafka_resp_err_t Call(const Record& record, DeliveryToken token, int32_t partition,
                           const TopicTable::Topic& topic);
  absl::StatusOr<Offered> ProduceError(rd_kafka_resp_err_t error, const Record& record,
                                       int32_t partition, TopicTable::Topic& topic);
  void ApplyMetadata();
  void DrainReports(rd_kafka_event_t* event, DeliveryListener& listener);
  void Report(const rd_kafka_message_t& message, DeliveryListener& listener);
  void ReportFailure(const rd_kafka_message_t& message, DeliveryListener& listener);
  void OnEvent(rd_kafka_event_t* event, DeliveryListener& listener);
  void OnErrorEvent(rd_kafka_event_t* event);

  const Options options_;
  std::unique_ptr<ProducerClient> client_;
  ClientHealth health_;
  StoredRecords stored_;
  std::optional<DeletionWarning> deletion_;           // nullopt: no topic is logged
  std::unique_ptr<ProducerTransaction> transaction_;  // nullptr: without transactions
  std::optional<HeldRecord> held_;  // the progress record, see ProducerTransaction
  std::vector<Header> headers_;     // of the report that is being passed on
  const SystemClock clock_;
  MonoTime now_ = clock_.Now();  // at the last Poll()
  std::optional<MonoTime> acknowledged_at_;
};

}  // namespace walrelay
