#include "kafka/kafka_producer.h"

#include <fmt/format.h>
#include <sys/eventfd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/check.h"
#include "base/log.h"
#include "base/text.h"
#include "kafka/conf.h"
#include "kafka/delivery_error.h"
#include "walrelay/error.h"

namespace walrelay {
namespace {

static_assert(sizeof(void*) >= sizeof(DeliveryToken), "a token travels as a message's opaque");

// librdkafka tells NULL from empty by the pointer.
const char* NotNull(std::string_view bytes) {
  return bytes.data() != nullptr ? bytes.data() : "";
}

// Owned by us until a produce call has succeeded. (Headers given inline are freed twice by
// librdkafka before 2.12 when the partition does not exist.)
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

// `opaque` comes with each report. To be called before anything else names the topic.
KafkaTopic OpenTopic(rd_kafka_t* client, const char* name, void* opaque) {
  rd_kafka_topic_conf_t* conf = rd_kafka_default_topic_conf_dup(client);
  rd_kafka_topic_conf_set_opaque(conf, opaque);
  UseJavaPartitioner(conf);
  return KafkaTopic(rd_kafka_topic_new(client, name, conf));
}

// Records without a key have no order to keep; those of a transaction stay together.
int32_t ExpectedPartition(const Record& record, DeliveryToken token, int32_t partitions) {
  if (record.partition) {
    return *record.partition;
  }
  if (record.key) {
    return JavaPartition(*record.key, partitions);
  }
  return static_cast<int32_t>(token % static_cast<DeliveryToken>(std::max(partitions, 1)));
}

// librdkafka takes 0 for the present time: the first millisecond of 1970 becomes the second.
int64_t ToKafkaTime(WallTime time) {
  const int64_t ms = std::chrono::floor<std::chrono::milliseconds>(time.time_since_epoch()).count();
  return ms == 0 ? 1 : ms;
}

}  // namespace

absl::StatusOr<std::unique_ptr<Producer>> KafkaProducer::Create(KafkaConf conf,
                                                                const Options& options) {
  UniqueFd wakeup(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC));
  if (!wakeup.valid()) {
    return Error(ErrorCode::kInternal, fmt::format("eventfd: {}", std::strerror(errno)));
  }
  WR_ASSIGN_OR_RETURN(KafkaClient client, MakeClient(RD_KAFKA_PRODUCER, std::move(conf)));
  return std::unique_ptr<Producer>(
      new KafkaProducer(std::move(client), std::move(wakeup), options));
}

KafkaProducer::KafkaProducer(KafkaClient client, UniqueFd wakeup, const Options& options)
    : options_(options),
      wakeup_(std::move(wakeup)),
      client_(std::move(client)),
      queue_(rd_kafka_queue_get_main(client_.get())),
      primer_(client_.get(), wakeup_.get()) {
  // librdkafka writes these eight bytes: what eventfd counts by.
  static constexpr uint64_t kOne = 1;
  rd_kafka_queue_io_event_enable(queue_.get(), wakeup_.get(), &kOne, sizeof(kOne));
}

KafkaProducer::~KafkaProducer() {
  rd_kafka_queue_io_event_enable(queue_.get(), -1, nullptr, 0);
  rd_kafka_purge(client_.get(), RD_KAFKA_PURGE_F_QUEUE | RD_KAFKA_PURGE_F_INFLIGHT |
                                    RD_KAFKA_PURGE_F_NON_BLOCKING);
}

KafkaProducer::Topic& KafkaProducer::FindTopic(std::string_view name) {
  if (last_topic_ != nullptr && last_topic_->name == name) {
    return *last_topic_;
  }
  auto found = topics_.find(name);
  if (found == topics_.end()) {
    auto topic = std::make_unique<Topic>();
    topic->name = name;
    topic->handle = OpenTopic(client_.get(), topic->name.c_str(), topic.get());
    primer_.Ask(topic->name);
    found = topics_.emplace(topic->name, std::move(topic)).first;
  }
  last_topic_ = found->second.get();
  return *last_topic_;
}

absl::StatusOr<Produced> KafkaProducer::Produce(const Record& record, DeliveryToken token) {
  if (!fatal_.ok()) {
    return Produced::kQueueFull;  // until Health() tells
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
  // Told once; who offers the record again asks again.
  topic.state = Topic::State::kAsked;
  primer_.Ask(topic.name);
  return topic.error;
}

absl::StatusOr<Produced> KafkaProducer::Enqueue(const Record& record, DeliveryToken token,
                                                Topic& topic) {
  const int32_t expected = ExpectedPartition(record, token, topic.partitions);
  if (!topic.gate.IsOpen(expected)) {
    return Produced::kQueueFull;
  }
  // With a key it is librdkafka that chooses: it learns first when a topic has grown.
  PartitionChoice choice{.partition = record.partition || !record.key ? expected : -1,
                         .partitions = topic.partitions};
  const rd_kafka_resp_err_t error = Hand(record, token, topic, choice);
  if (error != RD_KAFKA_RESP_ERR_NO_ERROR) {
    return ProduceError(error, record);
  }
  topic.partitions = choice.partitions;
  topic.gate.OnAccepted(choice.partition, now_);
  return Produced::kAccepted;
}

rd_kafka_resp_err_t KafkaProducer::Hand(const Record& record, DeliveryToken token,
                                        const Topic& topic, PartitionChoice& choice) {
  Arguments arguments;
  arguments.Add(RD_KAFKA_VTYPE_RKT).u.rkt = topic.handle.get();
  arguments.Add(RD_KAFKA_VTYPE_MSGFLAGS).u.i = RD_KAFKA_MSG_F_COPY;
  std::memcpy(&arguments.Add(RD_KAFKA_VTYPE_OPAQUE).u.ptr, &token, sizeof(token));
  if (record.key) {
    arguments.AddBytes(RD_KAFKA_VTYPE_KEY, *record.key);
  }
  if (record.value) {
    arguments.AddBytes(RD_KAFKA_VTYPE_VALUE, *record.value);
  }
  if (choice.partition >= 0) {
    arguments.Add(RD_KAFKA_VTYPE_PARTITION).u.i32 = choice.partition;
  }
  if (record.timestamp) {
    arguments.Add(RD_KAFKA_VTYPE_TIMESTAMP).u.i64 = ToKafkaTime(*record.timestamp);
  }
  KafkaHeaders headers;
  if (!record.headers.empty()) {
    headers = CopyHeaders(record.headers);
    arguments.Add(RD_KAFKA_VTYPE_HEADERS).u.headers = headers.get();
  }
  const ChoiceObserver observer(choice);
  const rd_kafka_resp_err_t error = arguments.Produce(client_.get());
  if (error == RD_KAFKA_RESP_ERR_NO_ERROR) {
    headers.release();
  }
  return error;
}

absl::StatusOr<Produced> KafkaProducer::ProduceError(rd_kafka_resp_err_t error,
                                                     const Record& record) {
  switch (error) {
    case RD_KAFKA_RESP_ERR__QUEUE_FULL:
      return Produced::kQueueFull;
    case RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE:
      return Error(ErrorCode::kRecordTooLarge,
                   fmt::format("{} bytes for topic {}; kafka.max_record_bytes is the limit",
                               record.payload_bytes(), Printable(record.topic, 80)));
    case RD_KAFKA_RESP_ERR__UNKNOWN_PARTITION:
      return Error(ErrorCode::kValueInvalid,
                   fmt::format("topic {} has no partition {}", Printable(record.topic, 80),
                               record.partition.value_or(-1)));
    case RD_KAFKA_RESP_ERR__FATAL:
      NoticeFatal();
      return Produced::kQueueFull;
    default:
      return DeliveryError(error, record.topic, {});
  }
}

void KafkaProducer::Poll(DeliverySink& sink) {
  eventfd_t count = 0;
  eventfd_read(wakeup_.get(), &count);
  now_ = clock_.Now();
  TakeTopicAnswers();
  while (rd_kafka_event_t* event = rd_kafka_queue_poll(queue_.get(), 0)) {
    if (rd_kafka_event_type(event) == RD_KAFKA_EVENT_DR) {
      TakeReports(event, sink);
    } else if (rd_kafka_event_type(event) == RD_KAFKA_EVENT_ERROR) {
      NoticeError(event);
    }
    rd_kafka_event_destroy(event);
  }
}

void KafkaProducer::TakeTopicAnswers() {
  for (const TopicPrimer::Answer& answer : primer_.TakeAnswers()) {
    Topic& topic = *topics_.find(answer.topic)->second;
    topic.state = answer.status.ok() ? Topic::State::kReady : Topic::State::kFailed;
    topic.error = answer.status;
    topic.partitions = answer.partitions;
  }
}

void KafkaProducer::TakeReports(rd_kafka_event_t* event, DeliverySink& sink) {
  while (const rd_kafka_message_t* message = rd_kafka_event_message_next(event)) {
    Report(*message, sink);
  }
}

void KafkaProducer::Report(const rd_kafka_message_t& message, DeliverySink& sink) {
  DeliveryToken token = 0;
  std::memcpy(&token, &message._private, sizeof(token));
  const char* topic = rd_kafka_topic_name(message.rkt);
  if (message.err != RD_KAFKA_RESP_ERR_NO_ERROR) {
    NoticeFatal();
    failure_reported_ = true;
    sink.OnFailed(token, DeliveryError(message.err, topic, {}));
    return;
  }
  trouble_ = absl::OkStatus();
  static_cast<Topic*>(rd_kafka_topic_opaque(message.rkt))
      ->gate.OnDelivered(message.partition, now_);
  Delivery delivery{.token = token,
                    .bytes = message.len + message.key_len,
                    .latency = Micros(std::max<int64_t>(rd_kafka_message_latency(&message), 0)),
                    .topic = topic,
                    .partition = message.partition,
                    .offset = message.offset};
  if (message.key != nullptr) {
    delivery.key = std::string_view(static_cast<const char*>(message.key), message.key_len);
  }
  if (options_.delivery_details) {
    delivery.headers = HeadersOf(message);
  }
  sink.OnDelivered(delivery);
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
}

void KafkaProducer::NoticeFatal() {
  char reason[512];
  const rd_kafka_resp_err_t error = rd_kafka_fatal_error(client_.get(), reason, sizeof(reason));
  if (error != RD_KAFKA_RESP_ERR_NO_ERROR && fatal_.ok()) {
    fatal_ = Error(ErrorCode::kProducerFailed,
                   fmt::format("{}: {}", rd_kafka_err2name(error), Printable(reason)));
  }
}

// With the gapless guarantee every permanent error is fatal, and the fatal error does not say which
// it was; the report of the batch that failed does, and comes right behind. So it is waited for.
absl::Status KafkaProducer::Health() const {
  if (fatal_.ok() || (!failure_reported_ && rd_kafka_outq_len(client_.get()) > 0)) {
    return absl::OkStatus();
  }
  return fatal_;
}

}  // namespace walrelay
