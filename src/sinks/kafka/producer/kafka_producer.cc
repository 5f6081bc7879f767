#include "sinks/kafka/producer/kafka_producer.h"

#include <fmt/format.h>
#include <sys/eventfd.h>

#include <algorithm>
#include <array>
#include <utility>

#include "base/log.h"
#include "base/text.h"
#include "sinks/kafka/client/cluster_info.h"
#include "sinks/kafka/client/conf.h"
#include "sinks/kafka/client/delivery_error.h"
#include "sinks/kafka/producer/delivery_report.h"
#include "sinks/kafka/producer/partitioner.h"
#include "sinks/kafka/producer/produce_call.h"
#include "sinks/kafka/producer/producer_client.h"
#include "sinks/kafka/topics/progress_consumer.h"
#include "sinks/kafka/topics/topic_creation.h"
#include "walrelay/config/kafka.h"
#include "walrelay/config/on_error.h"
#include "walrelay/error.h"

namespace walrelay {

KafkaProducer::Options KafkaProducer::OptionsFor(const KafkaConfig& kafka) {
  Options options;
  options.password_file = kafka.sasl_password_file;
  options.key_password_file = kafka.ssl_key_password_file;
  options.topics = kafka.topics;
  // A copy: with a reaper, the client outlives the configuration.
  options.consumer_conf = [kafka] { return MakeConsumerConf(kafka); };
  options.progress_conf = [kafka] { return MakeProgressConf(kafka); };
  return options;
}

absl::StatusOr<std::unique_ptr<Sink>> KafkaProducer::Create(KafkaConf conf,
                                                            const Options& options) {
  WR_ASSIGN_OR_RETURN(auto client, ProducerClient::Create(std::move(conf), options));
  return std::unique_ptr<Sink>(new KafkaProducer(std::move(client), options));
}

KafkaProducer::KafkaProducer(std::unique_ptr<ProducerClient> client, const Options& options)
    : options_(options),
      client_(std::move(client)),
      health_(client_->handle.get()),
      stored_(*client_) {
  if (options.warn_of_deletion) {
    deletion_.emplace(client_->handle.get(), client_->queue.get());
  }
  if (client_->transactions != nullptr) {
    transaction_ =
        std::make_unique<ProducerTransaction>(*client_->transactions, health_, options.reaper,
                                              options.delivery_details, options.commit_limit);
  }
}

KafkaProducer::~KafkaProducer() {
  client_->Stop();
  // Destroying a client waits for its threads, which may take seconds while brokers are
  // unreachable.
  if (options_.reaper != nullptr) {
    options_.reaper->Destroy(std::move(client_));
  }
}

int KafkaProducer::poll_fd() const {
  return client_->wakeup.get();
}

Micros KafkaProducer::request_timeout() const {
  return client_->request_timeout;
}

absl::StatusOr<Offered> KafkaProducer::Produce(const Record& record, DeliveryToken token) {
  if (!health_.fatal().ok()) {
    return Wait::kQueue;  // until FatalError() reports it
  }
  TopicTable::Topic& topic = client_->topics->Find(record.topic);
  if (transaction_ != nullptr && !transaction_->open()) {
    return Wait::kQueue;
  }
  WR_ASSIGN_OR_RETURN(const bool ready, client_->topics->IsReady(topic));
  if (!ready || (record.position && stored_.Awaits(topic))) {
    return Wait::kTopic;
  }
  const bool hold = transaction_ != nullptr && token.is_progress() && transaction_->HoldsProgress();
  return hold ? HoldBack(record, topic) : Enqueue(record, token, topic);
}

// Its parts are all there: a progress record has a key, a value and a partition.
Offered KafkaProducer::HoldBack(const Record& record, TopicTable::Topic& topic) {
  held_ = HeldRecord{.topic = &topic,
                     .key = std::string(record.key.value_or("")),
                     .value = std::string(record.value.value_or("")),
                     .partition = record.partition.value_or(0)};
  for (const Header& header : record.headers) {
    held_->headers.emplace_back(header.name, header.value.value_or(""));
  }
  transaction_->Hold(topic.name);
  return Wait::kNone;
}

void KafkaProducer::SendHeldBack() {
  std::vector<Header> headers;
  for (const auto& [name, value] : held_->headers) {
    headers.push_back({name, value});
  }
  TopicTable::Topic& topic = *held_->topic;
  const auto produced = Enqueue({.topic = topic.name,
                                 .key = held_->key,
                                 .value = held_->value,
                                 .headers = headers,
                                 .partition = held_->partition,
                                 .timestamp = std::nullopt},
                                DeliveryToken::Progress(), topic);
  if (!produced.ok()) {
    transaction_->OnHeldRefused(produced.status(), topic.name);
  }
}

void KafkaProducer::SkipStored(const WalHistory& history) {
  stored_.Begin(history, options_.consumer_conf);
}

bool KafkaProducer::Announce(std::string_view topic) {
  return health_.fatal().ok() && client_->topics->Announce(topic);
}

absl::StatusOr<Offered> KafkaProducer::Enqueue(const Record& record, DeliveryToken token,
                                               TopicTable::Topic& topic) {
  const int32_t partition = PartitionOf(record, token, topic.partitions.count(), stored_.begun());
  if (topic.partitions.Where(partition) != TopicPartitions::Place::kExists) {
    return client_->topics->OnAbsentPartition(topic, record, partition);
  }
  // Before the gate: such an event need not wait for others.
  WR_ASSIGN_OR_RETURN(const bool stored, stored_.Contains(record, topic, partition));
  if (stored) {
    return Offered::Stored();
  }
  if (!topic.partitions.MayEnter(partition)) {
    return Wait::kQueue;
  }
  const rd_kafka_resp_err_t error = Call(record, token, partition, topic);
  if (error != RD_KAFKA_RESP_ERR_NO_ERROR) {
    return ProduceError(error, record, partition, topic);
  }
  client_->topics->OnAccepted(topic, partition, now_);
  if (!std::exchange(topic.has_record, true)) {
    if (deletion_) {
      deletion_->OnFirstRecord(record, topic.name, clock_.WallNow());
    }
  }
  if (transaction_ != nullptr) {
    transaction_->OnAccepted(token, topic.name);
  }
  return Wait::kNone;
}

// A record without a position, but with a header of that name, gets a null header: readers and
// reports take the last one for the producer's.
rd_kafka_resp_err_t KafkaProducer::Call(const Record& record, DeliveryToken token,
                                        int32_t partition, const TopicTable::Topic& topic) {
  std::array<char, kPositionHeaderBytes> position;
  Header header{kPositionHeader, std::nullopt};
  const Header* added = nullptr;
  if (stored_.begun() && record.position) {
    position = EncodePosition(
        *record.position, {topic.name, partition, static_cast<uint32_t>(topic.partitions.count())});
    header.value = std::string_view(position.data(), position.size());
    added = &header;
  } else if (stored_.begun() &&
             std::any_of(record.headers.begin(), record.headers.end(),
                         [](const Header& own) { return own.name == kPositionHeader; })) {
    added = &header;
  }
  return CallProduce(client_->handle.get(), topic.handle.get(), record, token, partition, added);
}

// The errors of the call itself: the record was not queued, and no report follows.
absl::StatusOr<Offered> KafkaProducer::ProduceError(rd_kafka_resp_err_t error, const Record& record,
                                                    int32_t partition, TopicTable::Topic& topic) {
  switch (error) {
    case RD_KAFKA_RESP_ERR__QUEUE_FULL:
      return Wait::kQueue;
    case RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE:
      return Error(ErrorCode::kRecordTooLarge,
                   fmt::format("{} bytes for topic {}; the limit is kafka.max_record_bytes",
                               record.payload_bytes(), Printable(record.topic, 80)));
    case RD_KAFKA_RESP_ERR__UNKNOWN_PARTITION:
      // librdkafka knows of fewer partitions than we do
      return client_->topics->OnAbsentPartition(topic, record, partition);
    case RD_KAFKA_RESP_ERR__FATAL:
    case RD_KAFKA_RESP_ERR__STATE:  // the transaction has failed
      if (transaction_ != nullptr) {
        transaction_->NoteFailure();
      } else {
        health_.CheckFatal();
      }
      return Wait::kQueue;
    default:
      return DeliveryError(error, record.topic, {});
  }
}

void KafkaProducer::Poll(DeliveryListener& listener) {
  // The eventfd first: what arrives afterwards signals it again.
  eventfd_t count = 0;
  eventfd_read(client_->wakeup.get(), &count);
  now_ = clock_.Now();
  if (client_->credentials->TakePasswordChange()) {
    health_.OnPasswordChanged();
  }
  ApplyMetadata();
  while (rd_kafka_event_t* event = rd_kafka_queue_poll(client_->queue.get(), 0)) {
    OnEvent(event, listener);
    rd_kafka_event_destroy(event);
  }
  stored_.ApplyTails();
  client_->topics->ApplyCreations();
  client_->creator->SendIfDue(now_);
  client_->topics->RefreshIfDue(now_);
  if (transaction_ != nullptr && transaction_->ReleasesProgress()) {
    SendHeldBack();
  }
  if (transaction_ != nullptr && transaction_->Turn(listener, now_)) {
    client_->Purge();
  }
}

std::optional<Transactions::Claim> KafkaProducer::TakeClaim() {
  return transaction_->TakeClaim();
}

void KafkaProducer::Commit() {
  transaction_->Commit(clock_.Now());
}

void KafkaProducer::OnEvent(rd_kafka_event_t* event, DeliveryListener& listener) {
  switch (rd_kafka_event_type(event)) {
    case RD_KAFKA_EVENT_DR:
      return DrainReports(event, listener);
    case RD_KAFKA_EVENT_ERROR:
      return OnErrorEvent(event);
    case RD_KAFKA_EVENT_CREATETOPICS_RESULT:
      return client_->creator->OnAnswer(ReadTopicAnswers(event, options_.topics), now_);
    case RD_KAFKA_EVENT_DESCRIBECONFIGS_RESULT:
      if (deletion_) {
        deletion_->OnSettings(event);
      }
      return;
    default:
      return;
  }
}

void KafkaProducer::ApplyMetadata() {
  if (const absl::Status applied = client_->topics->ApplyMetadata(); !applied.ok()) {
    health_.Fail(applied);
  }
  if (!health_.reachable() && client_->metadata_fetcher->Answered()) {
    health_.OnBrokerAnswered();
  }
}

void KafkaProducer::DrainReports(rd_kafka_event_t* event, DeliveryListener& listener) {
  while (const rd_kafka_message_t* message = rd_kafka_event_message_next(event)) {
    Report(*message, listener);
  }
}

void KafkaProducer::Report(const rd_kafka_message_t& message, DeliveryListener& listener) {
  if (message.err != RD_KAFKA_RESP_ERR_NO_ERROR) {
    ReportFailure(message, listener);
    return;
  }
  health_.OnBrokerAnswered();
  acknowledged_at_ = now_;
  TopicTable::Topic& topic = TopicTable::Of(message);
  client_->topics->OnDelivered(topic, message.partition, now_);
  Delivery delivery = ToDelivery(message, topic.name, AddedHeader());
  if (const auto acknowledged = client_->acknowledgements.Find(delivery.token)) {
    delivery.report_delay = std::clamp(now_ - *acknowledged, Micros(0), delivery.latency);
    delivery.latency -= delivery.report_delay;
  }
  if (options_.delivery_details) {
    ReadHeaders(message, headers_);
    delivery.headers = headers_;
  }
  if (transaction_ != nullptr) {
    transaction_->OnDelivered(delivery, now_);
  } else {
    listener.OnDelivered(delivery);
  }
}

// A failed report usually means a failed client. The check comes first, so that the listener can
// see FatalError().
void KafkaProducer::ReportFailure(const rd_kafka_message_t& message, DeliveryListener& listener) {
  TopicTable::Topic& topic = TopicTable::Of(message);
  client_->topics->OnFailed(topic, message.partition);
  const DeliveryFailure failure = ToDeliveryFailure(message, topic.name, AddedHeader());
  if (transaction_ != nullptr) {
    transaction_->OnFailed(failure, topic.name);
    return;
  }
  health_.CheckFatal();
  listener.OnFailed(failure);
}

void KafkaProducer::OnErrorEvent(rd_kafka_event_t* event) {
  if (transaction_ != nullptr && (rd_kafka_event_error(event) == RD_KAFKA_RESP_ERR__FATAL ||
                                  rd_kafka_event_error_is_fatal(event) != 0)) {
    return transaction_->NoteFailure();
  }
  const ClientHealth::ErrorKind kind = health_.OnError(event, now_);
  if (kind == ClientHealth::ErrorKind::kFatal) {
    return;
  }
  // An error may mean that a leader has moved.
  client_->topics->WantRefresh();
  if (kind == ClientHealth::ErrorKind::kLoginRefused) {
    client_->credentials->CheckNow();
    if (TokenRefresher* tokens = client_->handle.get_deleter().tokens.get()) {
      health_.ExplainTrouble(tokens->failure());
      tokens->RefreshNow();
    }
  } else if (kind == ClientHealth::ErrorKind::kAllBrokersDown) {
    // librdkafka reports that brokers are down, but not that one is up again.
    client_->metadata_fetcher->Probe();
  }
}

// librdkafka keeps records that it would retry, even after a permanent failure.
void KafkaProducer::AbandonUndelivered() {
  client_->Purge();
  if (transaction_ != nullptr) {
    transaction_->Abandon();
  }
}

SinkHealth KafkaProducer::health() const {
  return {.trouble = health_.trouble(), .reachable = health_.reachable(), .outdated = Outdated()};
}

// A login that was refused for this long may need credentials that only a new client reads. Tokens
// are not among them: this client receives every new one.
bool KafkaProducer::Outdated() const {
  const bool has_tokens = client_->handle.get_deleter().tokens != nullptr;
  return client_->credentials->outdated() ||
         (!has_tokens && health_.LoginRefusedFor(options_.login_grace, now_));
}

void KafkaProducer::Examine() {
  if (client_->examiner != nullptr) {
    client_->examiner->Begin(client_->topics->Awaited(ClientExaminer::kMostPartitions));
  }
}

// A client that hangs may not end either. To replace it would then block the owner.
std::optional<Examination> KafkaProducer::TakeExamination() {
  auto found = client_->examiner != nullptr ? client_->examiner->Take() : std::nullopt;
  if (found && found->brokers.ok() && options_.reaper != nullptr && !options_.reaper->HasRoom()) {
    found->brokers =
        Error(ErrorCode::kKafkaStalled,
              "the client makes no progress, and those that were replaced before "
              "have not ended",
              "Restart walrelay: no event is lost. Events in flight may appear twice.");
  }
  return found;
}

std::string KafkaProducer::ClusterId() const {
  return ClusterIdOf(client_->handle.get());
}

}  // namespace walrelay
