#include "kafka/kafka_producer.h"

#include <fmt/format.h>
#include <sys/eventfd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "base/check.h"
#include "base/log.h"
#include "base/text.h"
#include "kafka/conf.h"
#include "kafka/delivery_error.h"
#include "kafka/partitioner.h"
#include "walrelay/error.h"

namespace walrelay {
namespace {

static_assert(sizeof(void*) == sizeof(DeliveryToken), "a token travels as a message's opaque");

// librdkafka distinguishes NULL from empty by the pointer.
const char* NotNull(std::string_view bytes) {
  return bytes.data() != nullptr ? bytes.data() : "";
}

// We own the headers until a produce call has succeeded. (librdkafka before 2.12 frees headers
// passed inline twice if the partition does not exist.)
KafkaHeaders CopyHeaders(std::span<const Header> headers) {
  KafkaHeaders out(rd_kafka_headers_new(headers.size()));
  for (const Header& header : headers) {
    const char* value = header.value ? NotNull(*header.value) : nullptr;
    const auto size = static_cast<ssize_t>(header.value ? header.value->size() : 0);
    rd_kafka_header_add(out.get(), header.name.data(), static_cast<ssize_t>(header.name.size()),
                        value, size);
  }
  return out;
}

// The arguments of one produce call.
class Arguments {
 public:
  rd_kafka_vu_t& Add(rd_kafka_vtype_t type) {
    WR_CHECK(count_ < std::size(arguments_), "there is room for each kind of argument");
    arguments_[count_].vtype = type;
    return arguments_[count_++];
  }
  void AddBytes(rd_kafka_vtype_t type, std::string_view bytes) {
    rd_kafka_vu_t& argument = Add(type);
    argument.u.mem.ptr = const_cast<char*>(NotNull(bytes));
    argument.u.mem.size = bytes.size();
  }

  rd_kafka_resp_err_t Produce(rd_kafka_t* client) {
    rd_kafka_error_t* error = rd_kafka_produceva(client, arguments_, count_);
    if (error == nullptr) {
      return RD_KAFKA_RESP_ERR_NO_ERROR;
    }
    const rd_kafka_resp_err_t code = rd_kafka_error_code(error);
    rd_kafka_error_destroy(error);
    return code;
  }

 private:
  rd_kafka_vu_t arguments_[8];
  size_t count_ = 0;
};

// `opaque` is returned with each report. Call it before any other function names the topic.
KafkaTopic OpenTopic(rd_kafka_t* client, const char* name, void* opaque) {
  rd_kafka_topic_conf_t* conf = rd_kafka_default_topic_conf_dup(client);
  rd_kafka_topic_conf_set_opaque(conf, opaque);
  return KafkaTopic(rd_kafka_topic_new(client, name, conf));
}

// Records without a key need no order; those of one transaction stay together.
int32_t PartitionOf(const Record& record, DeliveryToken token, int32_t partitions) {
  if (record.partition) {
    return *record.partition;
  }
  if (record.key) {
    return JavaPartition(*record.key, partitions);
  }
  return static_cast<int32_t>(token.transaction % static_cast<uint32_t>(std::max(partitions, 1)));
}

// librdkafka interprets 0 as the current time: the first millisecond of 1970 becomes the second.
int64_t ToKafkaTime(WallTime time) {
  const int64_t ms = std::chrono::floor<std::chrono::milliseconds>(time.time_since_epoch()).count();
  return ms == 0 ? 1 : ms;
}

// Minimum interval between refreshes of leaders and counts after an error.
constexpr Micros kRefreshPause = std::chrono::seconds(1);

// The certificate files that a client with this configuration reads when it is created.
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

// Equals Record::window_bytes(). Reads the headers without copying them.
size_t WindowBytesOf(const rd_kafka_message_t& message) {
  rd_kafka_headers_t* headers = nullptr;
  size_t bytes = Record::kOverheadBytes + message.len + message.key_len;
  if (rd_kafka_message_headers(&message, &headers) == RD_KAFKA_RESP_ERR_NO_ERROR) {
    const char* name = nullptr;
    const void* value = nullptr;
    size_t size = 0;
    for (size_t i = 0;
         rd_kafka_header_get_all(headers, i, &name, &value, &size) == RD_KAFKA_RESP_ERR_NO_ERROR;
         ++i) {
      bytes += std::strlen(name) + size;
    }
  }
  return bytes;
}

}  // namespace

KafkaProducer::Options KafkaProducer::OptionsFor(const KafkaConfig& kafka) {
  Options options;
  options.password_file = kafka.sasl_password_file;
  options.key_password_file = kafka.ssl_key_password_file;
  return options;
}

absl::StatusOr<std::unique_ptr<Producer>> KafkaProducer::Create(KafkaConf conf,
                                                                const Options& asked_options) {
  Options options = asked_options;
  options.refresh_interval = std::min(options.refresh_interval, RefreshIntervalOf(*conf));
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
      options.look_interval);
  WR_ASSIGN_OR_RETURN(client->handle, MakeClient(RD_KAFKA_PRODUCER, std::move(conf)));
  client->queue.reset(rd_kafka_queue_get_main(client->handle.get()));
  client->credentials->Start(client->handle.get());
  client->primer = std::make_unique<TopicPrimer>(client->handle.get(), client->wakeup.get());
  return std::unique_ptr<Producer>(new KafkaProducer(std::move(client), options));
}

KafkaProducer::KafkaProducer(std::unique_ptr<Client> client, const Options& options)
    : options_(options), client_(std::move(client)) {
  // librdkafka writes these eight bytes: an eventfd increment of one.
  static constexpr uint64_t kOne = 1;
  rd_kafka_queue_io_event_enable(client_->queue.get(), client_->wakeup.get(), &kOne, sizeof(kOne));
}

KafkaProducer::~KafkaProducer() {
  rd_kafka_queue_io_event_enable(client_->queue.get(), -1, nullptr, 0);
  rd_kafka_purge(client_->handle.get(), RD_KAFKA_PURGE_F_QUEUE | RD_KAFKA_PURGE_F_INFLIGHT |
                                            RD_KAFKA_PURGE_F_NON_BLOCKING);
  client_->primer->Stop();
  client_->credentials->Stop();
  if (options_.reaper != nullptr) {
    options_.reaper->Destroy(std::move(client_));
  }
}

KafkaProducer::Topic& KafkaProducer::FindTopic(std::string_view name) {
  if (last_topic_ != nullptr && last_topic_->name == name) {
    return *last_topic_;
  }
  auto found = client_->topics.find(name);
  if (found == client_->topics.end()) {
    auto topic = std::make_unique<Topic>();
    topic->name = name;
    topic->handle = OpenTopic(client_->handle.get(), topic->name.c_str(), topic.get());
    AskAbout(*topic);
    found = client_->topics.emplace(topic->name, std::move(topic)).first;
  }
  last_topic_ = found->second.get();
  return *last_topic_;
}

void KafkaProducer::AskAbout(Topic& topic) {
  topic.state = Topic::State::kAsked;
  client_->primer->Ask(topic.name);
}

absl::StatusOr<Produced> KafkaProducer::Produce(const Record& record, DeliveryToken token) {
  if (!fatal_.ok()) {
    return Produced::kQueueFull;  // until Health() reports it
  }
  Topic& topic = FindTopic(record.topic);
  switch (topic.state) {
    case Topic::State::kReady:
      return Enqueue(record, token, topic);
    case Topic::State::kAsked:
      return Produced::kTopicPending;
    case Topic::State::kFailed:
      break;
  }
  // The error is returned once; the next call requests the metadata again.
  AskAbout(topic);
  return topic.error;
}

absl::StatusOr<Produced> KafkaProducer::Enqueue(const Record& record, DeliveryToken token,
                                                Topic& topic) {
  const int32_t partition = PartitionOf(record, token, topic.partitions.count());
  if (partition < 0 || partition >= topic.partitions.count()) {
    return NoSuchPartition(record, partition, topic);
  }
  if (!topic.partitions.MayEnter(partition)) {
    return Produced::kQueueFull;
  }
  const rd_kafka_resp_err_t error = Hand(record, token, topic, partition);
  if (error != RD_KAFKA_RESP_ERR_NO_ERROR) {
    return ProduceError(error, record, partition, topic);
  }
  topic.partitions.OnAccepted(partition, now_);
  topic.just_answered = false;
  produced_ = true;
  return Produced::kAccepted;
}

// The topic may have grown since its metadata was fetched: only a fresh answer justifies refusing a
// record.
absl::StatusOr<Produced> KafkaProducer::NoSuchPartition(const Record& record, int32_t partition,
                                                        Topic& topic) {
  if (!topic.just_answered || !record.partition) {
    AskAbout(topic);
    return Produced::kTopicPending;
  }
  topic.just_answered = false;
  return Error(ErrorCode::kValueInvalid,
               fmt::format("topic {} has no partition {}", Printable(record.topic, 80), partition));
}

rd_kafka_resp_err_t KafkaProducer::Hand(const Record& record, DeliveryToken token,
                                        const Topic& topic, int32_t partition) {
  Arguments arguments;
  arguments.Add(RD_KAFKA_VTYPE_RKT).u.rkt = topic.handle.get();
  arguments.Add(RD_KAFKA_VTYPE_MSGFLAGS).u.i = RD_KAFKA_MSG_F_COPY;
  arguments.Add(RD_KAFKA_VTYPE_OPAQUE).u.ptr = std::bit_cast<void*>(token);
  if (record.key) {
    arguments.AddBytes(RD_KAFKA_VTYPE_KEY, *record.key);
  }
  if (record.value) {
    arguments.AddBytes(RD_KAFKA_VTYPE_VALUE, *record.value);
  }
  arguments.Add(RD_KAFKA_VTYPE_PARTITION).u.i32 = partition;
  if (record.timestamp) {
    arguments.Add(RD_KAFKA_VTYPE_TIMESTAMP).u.i64 = ToKafkaTime(*record.timestamp);
  }
  KafkaHeaders headers;
  if (!record.headers.empty()) {
    headers = CopyHeaders(record.headers);
    arguments.Add(RD_KAFKA_VTYPE_HEADERS).u.headers = headers.get();
  }
  const rd_kafka_resp_err_t error = arguments.Produce(client_->handle.get());
  if (error == RD_KAFKA_RESP_ERR_NO_ERROR) {
    headers.release();
  }
  return error;
}

absl::StatusOr<Produced> KafkaProducer::ProduceError(rd_kafka_resp_err_t error,
                                                     const Record& record, int32_t partition,
                                                     Topic& topic) {
  switch (error) {
    case RD_KAFKA_RESP_ERR__QUEUE_FULL:
      return Produced::kQueueFull;
    case RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE:
      return Error(ErrorCode::kRecordTooLarge,
                   fmt::format("{} bytes for topic {}; the limit is kafka.max_record_bytes",
                               record.payload_bytes(), Printable(record.topic, 80)));
    case RD_KAFKA_RESP_ERR__UNKNOWN_PARTITION:
      // Librdkafka knows of fewer partitions than we do
      return NoSuchPartition(record, partition, topic);
    case RD_KAFKA_RESP_ERR__FATAL:
      NoticeFatal();
      return Produced::kQueueFull;
    default:
      return DeliveryError(error, record.topic, {});
  }
}

void KafkaProducer::Poll(DeliverySink& sink) {
  eventfd_t count = 0;
  eventfd_read(client_->wakeup.get(), &count);
  now_ = clock_.Now();
  if (client_->credentials->TakePasswordChange()) {
    login_refused_since_.reset();
  }
  TakeTopicAnswers();
  while (rd_kafka_event_t* event = rd_kafka_queue_poll(client_->queue.get(), 0)) {
    if (rd_kafka_event_type(event) == RD_KAFKA_EVENT_DR) {
      TakeReports(event, sink);
    } else if (rd_kafka_event_type(event) == RD_KAFKA_EVENT_ERROR) {
      NoticeError(event);
    }
    rd_kafka_event_destroy(event);
  }
  RefreshTopics();
}

void KafkaProducer::TakeTopicAnswers() {
  for (const TopicPrimer::Answer& answer : client_->primer->TakeAnswers()) {
    const auto topic = client_->topics.find(answer.topic);
    if (topic != client_->topics.end()) {
      TakeAnswer(answer, *topic->second);
    }
  }
  if (!reachable_ && client_->primer->Answered()) {
    reachable_ = true;
    trouble_ = absl::OkStatus();
  }
}

void KafkaProducer::TakeAnswer(const TopicPrimer::Answer& answer, Topic& topic) {
  if (!answer.status.ok()) {
    if (HasCode(answer.status, ErrorCode::kTopicUnknown)) {
      topic.partitions.OnMissing();
    }
    if (answer.asked) {
      topic.state = Topic::State::kFailed;
      topic.error = answer.status;
    } else if (topic.state == Topic::State::kReady) {
      AskAbout(topic);  // one broker may not know the topic yet
    }
    return;
  }
  if (answer.asked) {
    topic.state = Topic::State::kReady;
    topic.just_answered = true;
  }
  if (const int changed = topic.partitions.Learn(answer.leaders); changed > 0) {
    LogDebug("leader_changed", "the next record of each partition is sent alone",
             {{"topic", topic.name}, {"partitions", changed}});
  }
  if (topic.partitions.stranded() && fatal_.ok()) {
    fatal_ = Error(
        ErrorCode::kPartitionsChanged,
        fmt::format("topic {} has {} partitions, expected {}; records in flight to the missing "
                    "partitions are sent again",
                    Printable(topic.name, 80), answer.leaders.size(), topic.partitions.count()));
  }
  TakeCountChange(topic);
}

void KafkaProducer::TakeCountChange(Topic& topic) {
  const auto change = topic.partitions.TakeCountChange();
  if (!change) {
    return;
  }
  LogStatus(LogLevel::kWarning, "partitions_changed",
            Error(ErrorCode::kPartitionsChanged,
                  fmt::format("topic {} now has {} partitions, previously {}",
                              Printable(topic.name, 80), change->now, change->before)),
            {{"topic", topic.name}, {"before", change->before}, {"now", change->now}});
  if (options_.on_partitions_changed) {
    options_.on_partitions_changed();
  }
}

// While nothing is produced and nothing fails, no metadata is requested: brokers that create topics
// on demand would recreate a topic that was deleted.
void KafkaProducer::RefreshTopics() {
  const Micros pause = refresh_wanted_ ? kRefreshPause : options_.refresh_interval;
  if ((produced_ || refresh_wanted_) && now_ - refreshed_ >= pause && !client_->topics.empty()) {
    refreshed_ = now_;
    produced_ = false;
    refresh_wanted_ = false;
    client_->primer->Refresh();
  }
}

void KafkaProducer::TakeReports(rd_kafka_event_t* event, DeliverySink& sink) {
  while (const rd_kafka_message_t* message = rd_kafka_event_message_next(event)) {
    Report(*message, sink);
  }
}

void KafkaProducer::Report(const rd_kafka_message_t& message, DeliverySink& sink) {
  if (message.err != RD_KAFKA_RESP_ERR_NO_ERROR) {
    ReportFailure(message, sink);
    return;
  }
  trouble_ = absl::OkStatus();
  reachable_ = true;
  Topic& topic = *static_cast<Topic*>(rd_kafka_topic_opaque(message.rkt));
  topic.partitions.OnDelivered(message.partition, now_);
  Delivery delivery{.token = std::bit_cast<DeliveryToken>(message._private),
                    .bytes = WindowBytesOf(message),
                    .latency = Micros(std::max<int64_t>(rd_kafka_message_latency(&message), 0)),
                    .topic = topic.name,
                    .partition = message.partition,
                    .offset = message.offset};
  if (message.key != nullptr) {
    delivery.key = std::string_view(static_cast<const char*>(message.key), message.key_len);
  }
  if (options_.delivery_details) {
    delivery.headers = HeadersOf(message);
  }
  sink.OnDelivered(delivery);
  if (topic.partitions.changing()) {
    TakeCountChange(topic);
  }
}

void KafkaProducer::ReportFailure(const rd_kafka_message_t& message, DeliverySink& sink) {
  NoticeFatal();
  Topic& topic = *static_cast<Topic*>(rd_kafka_topic_opaque(message.rkt));
  topic.partitions.OnFailed(message.partition);
  sink.OnFailed({.token = std::bit_cast<DeliveryToken>(message._private),
                 .bytes = WindowBytesOf(message),
                 .error = DeliveryError(message.err, topic.name, {}),
                 .purged = IsPurged(message.err)});
}

std::span<const Header> KafkaProducer::HeadersOf(const rd_kafka_message_t& message) {
  headers_.clear();
  rd_kafka_headers_t* headers = nullptr;
  if (rd_kafka_message_headers(&message, &headers) != RD_KAFKA_RESP_ERR_NO_ERROR) {
    return {};
  }
  const char* name = nullptr;
  const void* value = nullptr;
  size_t size = 0;
  for (size_t i = 0;
       rd_kafka_header_get_all(headers, i, &name, &value, &size) == RD_KAFKA_RESP_ERR_NO_ERROR;
       ++i) {
    headers_.push_back({name, value == nullptr ? std::nullopt
                                               : std::optional(std::string_view(
                                                     static_cast<const char*>(value), size))});
  }
  return headers_;
}

void KafkaProducer::NoticeError(rd_kafka_event_t* event) {
  const rd_kafka_resp_err_t error = rd_kafka_event_error(event);
  if (error == RD_KAFKA_RESP_ERR__FATAL || rd_kafka_event_error_is_fatal(event) != 0) {
    NoticeFatal();
    return;
  }
  const char* detail = rd_kafka_event_error_string(event);
  trouble_ = ClientError(error, detail != nullptr ? detail : "");
  LogDebug("kafka_trouble", MessageOf(trouble_));
  refresh_wanted_ = true;
  if (HasCode(trouble_, ErrorCode::kKafkaLogin)) {
    login_refused_since_ = login_refused_since_.value_or(now_);
    client_->credentials->LookNow();
  }
  if (error == RD_KAFKA_RESP_ERR__ALL_BROKERS_DOWN) {
    reachable_ = false;
    client_->primer->Probe();
  }
}

void KafkaProducer::NoticeFatal() {
  char reason[512];
  const rd_kafka_resp_err_t error =
      rd_kafka_fatal_error(client_->handle.get(), reason, sizeof(reason));
  if (error != RD_KAFKA_RESP_ERR_NO_ERROR && fatal_.ok()) {
    fatal_ = Error(ErrorCode::kProducerFailed,
                   fmt::format("{}: {}", rd_kafka_err2name(error), Printable(reason)));
  }
}

// librdkafka keeps records that it would retry, even after a permanent failure.
void KafkaProducer::GiveUp() {
  rd_kafka_purge(client_->handle.get(), RD_KAFKA_PURGE_F_QUEUE | RD_KAFKA_PURGE_F_INFLIGHT |
                                            RD_KAFKA_PURGE_F_NON_BLOCKING);
}

// A login that was refused for this long may need credentials that only a new client reads.
bool KafkaProducer::Outdated() const {
  return client_->credentials->outdated() ||
         (login_refused_since_ && now_ - *login_refused_since_ > options_.login_patience);
}

}  // namespace walrelay
