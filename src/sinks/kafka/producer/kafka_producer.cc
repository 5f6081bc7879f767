#include "sinks/kafka/producer/kafka_producer.h"

#include <fmt/format.h>
#include <sys/eventfd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "base/endian.h"
#include "base/log.h"
#include "base/text.h"
#include "sinks/kafka/client/cluster_info.h"
#include "sinks/kafka/client/conf.h"
#include "sinks/kafka/client/delivery_error.h"
#include "sinks/kafka/producer/delivery_report.h"
#include "sinks/kafka/producer/partitioner.h"
#include "sinks/kafka/producer/produce_call.h"
#include "sinks/kafka/topics/progress_consumer.h"
#include "sinks/kafka/topics/topic_creation.h"
#include "sinks/kafka/topics/topic_retention.h"
#include "sinks/kafka/topics/topic_settings.h"
#include "walrelay/config/kafka.h"
#include "walrelay/config/on_error.h"
#include "walrelay/error.h"

namespace walrelay {
namespace {

// The partition of a record in a topic with this number of partitions; not valid if that is 0.
// Records without a key need no order; those of one transaction stay together, which makes larger
// batches.
// Where events are skipped, such a record needs the same partition after a restart: in another one,
// later events would make it appear stored. Numbers of transactions differ then, positions do not.
int32_t PartitionOf(const Record& record, DeliveryToken token, int32_t partitions,
                    bool repeatable) {
  if (record.partition) {
    return *record.partition;
  }
  if (record.key) {
    return JavaPartition(*record.key, partitions);
  }
  if (repeatable && record.position) {
    std::array<char, sizeof(uint64_t)> transaction;
    StoreBigEndian(record.position->position.commit_lsn.value(), transaction.data());
    return JavaPartition({transaction.data(), transaction.size()}, partitions);
  }
  return static_cast<int32_t>(token.transaction % static_cast<uint32_t>(std::max(partitions, 1)));
}

// The certificate files that a client with this configuration reads when it is created. "probe" is
// not a file: librdkafka then looks for the system's certificates.
std::vector<std::string> CertificateFiles(const rd_kafka_conf_t& conf) {
  std::vector<std::string> files;
  for (const char* name : {"ssl.ca.location", "ssl.certificate.location", "ssl.key.location",
                           "ssl.keystore.location", "ssl.crl.location"}) {
    if (std::string path = ConfValue(conf, name); !path.empty() && path != "probe") {
      files.push_back(std::move(path));
    }
  }
  return files;
}

// The configured refresh interval; librdkafka's default is five minutes.
Micros RefreshIntervalOf(const rd_kafka_conf_t& conf) {
  const int64_t millis = std::atoll(ConfValue(conf, "topic.metadata.refresh.interval.ms").c_str());
  return millis > 0 ? std::chrono::milliseconds(millis) : Micros::max();
}

}  // namespace

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
  const Micros refresh_interval = std::min(options.refresh_interval, RefreshIntervalOf(*conf));
  auto client = std::make_unique<Client>();
  client->wakeup = UniqueFd(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC));
  if (!client->wakeup.valid()) {
    return Error(ErrorCode::kInternal, fmt::format("eventfd: {}", std::strerror(errno)));
  }
  // Before the client reads the certificates, so that a change in between is detected.
  client->credentials = std::make_unique<CredentialWatch>(
      CredentialFiles{.password = options.password_file,
                      .key_password = options.key_password_file,
                      .certificates = CertificateFiles(*conf)},
      CredentialWatch::Credentials{.username = ConfValue(*conf, "sasl.username"),
                                   .password = Secret(ConfValue(*conf, "sasl.password")),
                                   .key_password = Secret(ConfValue(*conf, "ssl.key.password"))},
      options.sample_interval);
  const auto max_record_bytes =
      static_cast<size_t>(std::atoll(ConfValue(*conf, "message.max.bytes").c_str()));
  const Micros request_timeout =
      std::chrono::milliseconds(std::atoll(ConfValue(*conf, "socket.timeout.ms").c_str()));
  const std::string transactional_id = ConfValue(*conf, "transactional.id");
  // librdkafka before 2.13 frees the interceptors twice if the client cannot be created (5240).
  WR_RETURN_IF_ERROR(CheckClient(RD_KAFKA_PRODUCER, *conf));
  if (transactional_id.empty()) {
    client->acknowledgements.Attach(conf.get());
  } else {
    client->watch.Attach(conf.get());
  }
  WR_ASSIGN_OR_RETURN(client->handle, MakeClient(RD_KAFKA_PRODUCER, std::move(conf)));
  client->queue.reset(rd_kafka_queue_get_main(client->handle.get()));
  client->credentials->Start(client->handle.get());
  client->metadata_fetcher =
      std::make_unique<TopicMetadataFetcher>(client->handle.get(), client->wakeup.get());
  // Not a pointer to the options: with a reaper the client outlives them.
  client->creator = std::make_unique<TopicCreator>(
      [handle = client->handle.get(), queue = client->queue.get(), topics = options.topics](
          std::span<const std::string> names) { RequestTopics(handle, queue, topics, names); },
      /*seed=*/reinterpret_cast<uintptr_t>(client.get()));
  client->topics = std::make_unique<TopicTable>(
      client->handle.get(), *client->metadata_fetcher, *client->creator,
      TopicTable::Options{.refresh_interval = refresh_interval,
                          .topics = options.topics,
                          .on_partitions_changed = options.on_partitions_changed,
                          .on_topic_created = options.on_topic_created},
      SystemClock().Now());
  if (options.consumer_conf) {
    client->examiner = std::make_unique<ClientExaminer>(
        [handle = client->handle.get()] { return DescribeState(handle); }, client->wakeup.get(),
        options.consumer_conf);
  }
  if (!transactional_id.empty()) {
    client->transactions = std::make_unique<TransactionThread>(
        client->handle.get(), client->watch, client->wakeup.get(),
        TransactionThread::Options{
            .transactional_id = transactional_id,
            .progress = options.progress,
            .progress_conf = options.progress_conf,
            .reuse_after_repeated_commit = options.reuse_after_repeated_commit});
  }
  return std::unique_ptr<Sink>(
      new KafkaProducer(std::move(client), options, max_record_bytes, request_timeout));
}

KafkaProducer::KafkaProducer(std::unique_ptr<Client> client, const Options& options,
                             size_t max_record_bytes, Micros request_timeout)
    : options_(options),
      max_record_bytes_(max_record_bytes),
      request_timeout_(request_timeout),
      client_(std::move(client)),
      health_(client_->handle.get()) {
  // librdkafka writes these eight bytes: an eventfd increment of one.
  static constexpr uint64_t kOne = 1;
  rd_kafka_queue_io_event_enable(client_->queue.get(), client_->wakeup.get(), &kOne, sizeof(kOne));
  if (client_->transactions != nullptr) {
    transaction_ =
        std::make_unique<ProducerTransaction>(*client_->transactions, health_, options.reaper,
                                              options.delivery_details, options.commit_limit);
  }
}

KafkaProducer::~KafkaProducer() {
  // First: librdkafka must not write to the eventfd after it is closed.
  rd_kafka_queue_io_event_enable(client_->queue.get(), -1, nullptr, 0);
  Purge();  // the next producer sends these records again
  client_->metadata_fetcher->Stop();
  if (client_->tails != nullptr) {
    client_->tails->Stop();
  }
  if (client_->transactions != nullptr) {
    client_->transactions->Stop();
  }
  if (client_->examiner != nullptr) {
    client_->examiner->Stop();
  }
  client_->credentials->Stop();
  // Destroying a client waits for its threads, which may take seconds while brokers are
  // unreachable.
  if (options_.reaper != nullptr) {
    options_.reaper->Destroy(std::move(client_));
  }
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
  if (!ready || (record.position && AwaitsTail(topic))) {
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
  if (history_) {
    return;
  }
  history_ = history;
  if (options_.consumer_conf) {
    client_->tails =
        std::make_unique<TailReader>(options_.consumer_conf, history, client_->wakeup.get());
  }
}

// Whether the ends of the topic's partitions are still being read. Begins with it for the first
// record.
bool KafkaProducer::AwaitsTail(TopicTable::Topic& topic) {
  if (client_->tails == nullptr || topic.tail == TopicTable::Topic::Tail::kSettled) {
    return false;
  }
  if (topic.partitions.count() == 0) {
    return false;  // the metadata has to be fetched again, see OnAbsentPartition()
  }
  if (topic.tail == TopicTable::Topic::Tail::kUnread) {
    topic.tail = TopicTable::Topic::Tail::kAsked;
    client_->tails->Request(topic.name, topic.partitions.count());
  }
  return true;
}

bool KafkaProducer::Announce(std::string_view topic) {
  return health_.fatal().ok() && client_->topics->Announce(topic);
}

absl::StatusOr<Offered> KafkaProducer::Enqueue(const Record& record, DeliveryToken token,
                                               TopicTable::Topic& topic) {
  const int32_t partition =
      PartitionOf(record, token, topic.partitions.count(), history_.has_value());
  if (topic.partitions.Where(partition) != TopicPartitions::Place::kExists) {
    return client_->topics->OnAbsentPartition(topic, record, partition);
  }
  // Before the gate: such an event need not wait for others.
  WR_ASSIGN_OR_RETURN(const bool stored, IsStored(record, topic, partition));
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
    OnFirstRecord(record, topic);
  }
  if (transaction_ != nullptr) {
    transaction_->OnAccepted(token, topic.name);
  }
  return Wait::kNone;
}

// Positions of another history are not comparable with those that were read. A record that is too
// large has never been sent: later ones do not show what became of it, so its error is returned
// again. Its size is an upper limit of that which librdkafka compares.
absl::StatusOr<bool> KafkaProducer::IsStored(const Record& record, const TopicTable::Topic& topic,
                                             int32_t partition) const {
  const auto index = static_cast<size_t>(partition);
  if (!record.position || !history_ || index >= topic.stored.size() ||
      record.position->history != history_->current() ||
      record.position->routing != history_->routing) {
    return false;
  }
  WR_ASSIGN_OR_RETURN(const bool stored, topic.stored[index].Contains(*record.position));
  return stored && record.window_bytes() <= max_record_bytes_;
}

// A record without a position, but with a header of that name, gets a null header: readers and
// reports take the last one for the producer's.
rd_kafka_resp_err_t KafkaProducer::Call(const Record& record, DeliveryToken token,
                                        int32_t partition, const TopicTable::Topic& topic) {
  std::array<char, kPositionHeaderBytes> position;
  Header header{kPositionHeader, std::nullopt};
  const Header* added = nullptr;
  if (history_ && record.position) {
    position = EncodePosition(
        *record.position, {topic.name, partition, static_cast<uint32_t>(topic.partitions.count())});
    header.value = std::string_view(position.data(), position.size());
    added = &header;
  } else if (history_ &&
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
  ApplyTails();
  client_->topics->ApplyCreations();
  client_->creator->SendIfDue(now_);
  client_->topics->RefreshIfDue(now_);
  if (transaction_ != nullptr && transaction_->ReleasesProgress()) {
    SendHeldBack();
  }
  if (transaction_ != nullptr && transaction_->Turn(listener, now_)) {
    Purge();
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
      return OnSettings(event);
    default:
      return;
  }
}

// It is the topic's oldest record if this relay catches up. Records of a relay that keeps up are
// never old, and nothing is asked.
void KafkaProducer::OnFirstRecord(const Record& record, const TopicTable::Topic& topic) {
  constexpr Micros kOld = std::chrono::seconds(10);
  constexpr size_t kMostTopics = 50;
  if (!options_.warn_of_deletion || !record.timestamp || first_ages_.size() == kMostTopics) {
    return;
  }
  // A column may have any time.
  const Micros age = clock_.WallNow() - std::max(*record.timestamp, WallTime());
  if (age > kOld) {
    first_ages_[topic.name] = age;
    RequestSettings(client_->handle.get(), RD_KAFKA_RESOURCE_TOPIC, {topic.name},
                    client_->queue.get());
  }
}

// Brokers omit the settings of a topic that the user may not read: walrelay then does not warn.
void KafkaProducer::OnSettings(rd_kafka_event_t* event) {
  for (const auto& [name, settings] : SettingsIn(event)) {
    const auto age = first_ages_.find(name);
    const auto kept = KeptFor({.name = name, .settings = settings});
    if (age != first_ages_.end() && kept && age->second > *kept) {
      LogWarning(
          "deleted_at_once",
          "Kafka deletes records soon after they are published: they are older than the "
          "topic keeps records; see walrelay doctor, check kafka.retention",
          {{"topic", name}, {"age", FormatDuration(age->second)}, {"kept", FormatDuration(*kept)}});
    }
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

// A topic whose partitions have changed meanwhile no longer awaits the result.
void KafkaProducer::ApplyTails() {
  if (client_->tails == nullptr) {
    return;
  }
  for (TailReader::Result& result : client_->tails->DrainResults()) {
    TopicTable::Topic& topic = client_->topics->Find(result.topic);
    if (topic.tail == TopicTable::Topic::Tail::kAsked) {
      topic.tail = TopicTable::Topic::Tail::kSettled;
      topic.stored = std::move(result.partitions);
    }
    if (!result.trouble.empty()) {
      LogWarning("tail_not_read", "events that the topic has already may be sent again",
                 {{"topic", result.topic}, {"reason", result.trouble}});
    }
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

void KafkaProducer::Purge() {
  rd_kafka_purge(client_->handle.get(), RD_KAFKA_PURGE_F_QUEUE | RD_KAFKA_PURGE_F_INFLIGHT |
                                            RD_KAFKA_PURGE_F_NON_BLOCKING);
}

// librdkafka keeps records that it would retry, even after a permanent failure.
void KafkaProducer::AbandonUndelivered() {
  Purge();
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
