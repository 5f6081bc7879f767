#include "sim_producer.h"

#include <fmt/format.h>

#include <algorithm>

#include "encode/progress_codec.h"
#include "mutant.h"
#include "outbox.h"
#include "walrelay/config.h"
#include "walrelay/error.h"

namespace walrelay::sim {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

// Brokers report a topic as unknown while they create it on demand.
constexpr Micros kCreationGrace = seconds(2);
constexpr Micros kLookAgain = milliseconds(250);
constexpr Micros kRetryBackoff = milliseconds(100);
constexpr Micros kLongestLate = seconds(25);
constexpr Micros kLongestBlocked = seconds(30);  // until a row that was refused is tried again
constexpr Micros kLongestReconnect = milliseconds(200);

absl::Status ErrorOf(Answer answer, const std::string& topic) {
  switch (answer) {
    case Answer::kTooLarge:
      return Error(ErrorCode::kBatchTooLarge, topic + ": message size too large");
    case Answer::kRefused:
      return Error(ErrorCode::kDeliveryRefused, topic + ": invalid record");
    case Answer::kTimeRefused:
      return Error(ErrorCode::kRecordTimeRefused, topic + ": timestamp out of range");
    case Answer::kDenied:
      return Error(ErrorCode::kTopicDenied, topic + ": topic authorization failed");
    default:
      return Error(ErrorCode::kProducerFailed, topic + ": unknown producer");
  }
}

constexpr bool kPurged = true;

// FNV-1a: any partitioner works that always maps a key to the same partition.
int PartitionFor(std::string_view key, int partitions) {
  uint32_t hash = 2166136261;
  for (const char c : key) {
    hash = (hash ^ static_cast<unsigned char>(c)) * 16777619;
  }
  return static_cast<int>(hash % static_cast<uint32_t>(partitions));
}

}  // namespace

SimProducer::SimProducer(Context& context, SimKafka& kafka, RelayHost& host, ProducerUse& use,
                         const PipelineConfig& limits, const ProducerOptions& options,
                         int64_t batch_bytes)
    : context_(context),
      kafka_(kafka),
      host_(host),
      use_(use),
      limits_(limits),
      options_(options),
      batch_bytes_(static_cast<size_t>(batch_bytes)),
      id_(kafka.NewProducer()),
      credentials_(kafka.credentials) {
  ++use_.made;
}

void SimProducer::Abandon() {
  if (wedged_ && !host_.asleep() && use_.records_in_flight > 0) {
    context_.coverage.Count("a client that hangs is abandoned");
  }
  alive_ = false;
  use_.hung = wedged_;
  use_.abandoned = use_.records_in_flight;
  use_.progress_abandoned = use_.progress_in_flight > 0 && !use_.progress_failing;
  use_.progress_in_flight = 0;
  use_.records_in_flight = 0;
  use_.bytes_in_flight = 0;
}

// --- the owner's calls ---

absl::StatusOr<Offered> SimProducer::Produce(const Record& record, DeliveryToken token) {
  auto result = Accept(record, token);
  if (token.is_progress()) {
    use_.progress_held = !result.ok() || *result != Wait::kNone;
    use_.progress_failing = use_.progress_failing || !result.ok();
  }
  return result;
}

absl::StatusOr<Offered> SimProducer::Accept(const Record& record, DeliveryToken token) {
  const bool closed = !fatal_.ok() || (transactions_ && !transactions_->accepts());
  if (closed || queued_ - withheld_.size() >= options_.queue_limit) {
    context_.coverage.Count("producer queue is full");
    return Wait::kQueue;
  }
  const std::string topic(record.topic);
  TopicState& state = topics_[topic];
  if (state.metadata == Metadata::kFailed) {
    // Returned once; offering the record again requests the metadata again.
    state.metadata = Metadata::kUnknown;
    if (token.is_progress() && transactions_) {
      transactions_->OnRecordRefused();
    }
    return state.error;
  }
  if (state.metadata != Metadata::kReady) {
    context_.coverage.Count("producer looks up a topic");
    return Ask(topic, state);
  }
  if (!FollowPartitions(topic, state)) {
    return Wait::kQueue;
  }
  if (record.position && tails_ && tails_->Awaits(topic, state.partitions)) {
    return Wait::kTopic;
  }
  const int partition = PartitionFor(record.key.value_or(""), state.partitions);
  const std::optional<int> event = EventOf(record);
  const bool known = event && static_cast<size_t>(*event) < context_.oracle.event_count();
  if (record.position && tails_ && known) {
    WR_ASSIGN_OR_RETURN(const bool stored, tails_->Contains(topic, partition, *record.position));
    if (stored && record.window_bytes() <= static_cast<size_t>(kMaxRecordBytes)) {
      context_.coverage.Count("an event is not sent again");
      context_.oracle.OnStored(*event);
      return Offered::Stored();
    }
  }
  if (record.payload_bytes() > static_cast<size_t>(kMaxRecordBytes)) {
    return Error(ErrorCode::kRecordTooLarge, fmt::format("{} bytes", record.payload_bytes()));
  }
  if (token.is_progress()) {
    EnqueueProgress(record, token);
    return Wait::kNone;
  }
  if (!known) {
    context_.oracle.Fail("I2 no phantom", "a record that belongs to no event");
    return Wait::kNone;
  }
  Enqueue(record, token, *event, partition);
  return Wait::kNone;
}

void SimProducer::SkipStored(const WalHistory& history) {
  const auto later = [this](Micros delay, std::function<void()> action) {
    Later(delay, [action = std::move(action)](SimProducer& self) {
      action();
      self.signalled_ = true;
    });
  };
  tails_ = std::make_unique<SimTails>(context_, kafka_, history, /*first=*/use_.made == 1, later);
}

// Records in flight are acknowledged before the first one for another number of partitions.
bool SimProducer::FollowPartitions(const std::string& topic, TopicState& state) {
  const SimTopic& settings = kafka_.topic(topic);
  if (state.partitions == settings.partitions || context_.now() < settings.changed) {
    return true;
  }
  const bool in_flight = std::any_of(lanes_.begin(), lanes_.end(), [&](const auto& lane) {
    return lane.first.first == topic && !(lane.second.queue.empty() && lane.second.sent.empty());
  });
  if (in_flight) {
    return false;
  }
  context_.coverage.Count("a producer follows a change of partitions");
  state.partitions = settings.partitions;
  if (tails_) {
    tails_->Forget(topic);
  }
  return true;
}

void SimProducer::Enqueue(const Record& record, DeliveryToken token, int event, int partition) {
  const bool refused_before = record.topic == kDeadLetterTopic && context_.oracle.WasRefused(event);
  const Event& row = context_.oracle.event(event);
  const bool merged = tails_ && IsMerged(tails_->history().routing);
  if (const std::string wrong =
          WrongWith(record, event, row, merged ? std::string(kMergedTopic) : TopicOf(row.key));
      !wrong.empty() && !refused_before) {
    context_.oracle.Fail("I8 content", fmt::format("event {}: {}", event, wrong));
  }
  context_.oracle.OnProduced(event);
  host_.OnEventProduced(event);
  const auto [handed, first] = handed_over_.try_emplace(event, use_.histories);
  if (!first && std::exchange(handed->second, use_.histories) == use_.histories && !use_.failed) {
    context_.oracle.Fail("I7 repetitions",
                         fmt::format("event {} is handed to a producer that has it", event));
  }
  const std::string topic(record.topic);
  Lane& lane = LaneOf(topic, partition);
  const size_t bytes = record.window_bytes();
  CheckBounds(bytes);
  std::optional<PositionHeader> position;
  if (record.position && tails_) {
    tails_->CheckSent(topic, partition, event);
    const auto partitions = static_cast<uint32_t>(topics_[topic].partitions);
    position = {.bytes = EncodePosition(*record.position, {topic, partition, partitions}),
                .record = *record.position,
                .partitions = partitions};
  }
  const WallTime time = record.timestamp.value_or(context_.clock.WallNow());
  lane.queue.push_back({event, token, bytes, "", position, time});
  OnEnqueued();
  ++use_.records_in_flight;
  use_.bytes_in_flight += bytes;
  Later(Micros(0), [&lane](SimProducer& self) { self.SendFrom(lane); });
}

void SimProducer::EnqueueProgress(const Record& record, DeliveryToken token) {
  const bool format = record.headers.size() == 1 &&
                      record.headers[0].name == kProgressFormatHeader &&
                      record.headers[0].value == kProgressFormat;
  const auto value = DecodeProgress(record.value.value_or(""));
  if (record.topic != kProgressTopic || record.key != kPipelineId || record.partition != 0 ||
      !format || !value.ok()) {
    context_.oracle.Fail("I8 content", "a progress record is not as documented");
    return;
  }
  if (use_.progress_in_flight > 0) {
    context_.oracle.Fail("I9 bounds", "two progress records are in flight");
  }
  // A relay that was cut off may not know of another instance: the brokers reject what it sends.
  if (!transactions_ || !transactions_->fenced()) {
    host_.OnProgressProduced(*value);
  }
  Lane& lane = LaneOf(std::string(kProgressTopic), 0);
  lane.queue.push_back(
      {kNoEvent, token, record.window_bytes(), std::string(record.value.value_or("")), {}, {}});
  OnEnqueued();
  if (transactions_ && host_.same_server()) {
    kafka_.coordinator().Expect(std::string(record.value.value_or("")),
                                context_.oracle.MissingBefore(*value));
  }
  ++use_.progress_in_flight;
  Later(Micros(0), [&lane](SimProducer& self) { self.SendFrom(lane); });
}

void SimProducer::OnEnqueued() {
  ++queued_;
  if (transactions_) {
    transactions_->OnAccepted();
  }
}

SimProducer::Lane& SimProducer::LaneOf(const std::string& topic, int partition) {
  Lane& lane = lanes_[{topic, partition}];
  lane.topic = topic;
  lane.partition = partition;
  return lane;
}

// A record is admitted if the window has room before the record is added.
void SimProducer::CheckBounds(size_t record_bytes) {
  const bool records = use_.records_in_flight >= static_cast<size_t>(limits_.max_in_flight_records);
  const bool bytes = use_.records_in_flight > 0 &&
                     use_.bytes_in_flight >= static_cast<size_t>(limits_.max_in_flight_bytes);
  if (records || bytes) {
    context_.oracle.Fail(
        "I9 bounds",
        fmt::format("{} records and {} bytes were in flight when {} more bytes were produced",
                    use_.records_in_flight, use_.bytes_in_flight, record_bytes));
  }
}

Offered SimProducer::Ask(const std::string& topic, TopicState& state) {
  if (state.metadata != Metadata::kAsked) {
    state.metadata = Metadata::kAsked;
    const MonoTime asked = context_.now();
    Later(2 * kafka_.latency,
          [topic, asked](SimProducer& self) { self.AnswerTopic(topic, asked); });
  }
  return Wait::kTopic;
}

void SimProducer::AnswerTopic(const std::string& topic, MonoTime asked) {
  if (wedged_) {
    return;
  }
  const SimTopic& settings = kafka_.topic(topic);
  const bool perhaps_being_made = !settings.exists && context_.now() < asked + kCreationGrace;
  if (kafka_.down || outdated() || perhaps_being_made) {
    Later(kLookAgain, [topic, asked](SimProducer& self) { self.AnswerTopic(topic, asked); });
    return;
  }
  LearnCluster();
  TopicState& state = topics_[topic];
  state.metadata = settings.exists && !settings.denied ? Metadata::kReady : Metadata::kFailed;
  state.partitions = settings.partitions;
  if (!settings.exists) {
    state.error = Error(ErrorCode::kTopicUnknown, topic);
  } else if (settings.denied) {
    state.error = Error(ErrorCode::kTopicDenied, topic);
  }
  signalled_ = true;
}

void SimProducer::LearnCluster() {
  if (!cluster_ || cluster_->number != kafka_.cluster()) {
    cluster_ = {kafka_.cluster(), context_.now()};
  }
}

// Other connections may be used before the one with this answer.
void SimProducer::OnClusterChanged() {
  Later(context_.random.Between(kafka_.latency, kLongestReconnect), [](SimProducer& self) {
    if (self.wedged_ || self.kafka_.down || self.outdated()) {
      self.OnClusterChanged();
    } else {
      self.LearnCluster();
    }
  });
}

void SimProducer::Poll(DeliveryListener& listener) {
  signalled_ = false;
  if (transactions_) {
    transactions_->EndIfComplete();
  }
  for (const Reported& report : std::exchange(reports_, {})) {
    --queued_;
    const bool progress = report.record.event == kNoEvent;
    if (progress) {
      --use_.progress_in_flight;
      use_.progress_held = use_.progress_failing = !report.error.ok();
    } else {
      --use_.records_in_flight;
      use_.bytes_in_flight -= report.record.bytes;
    }
    if (report.error.ok() && !progress) {
      use_.last_report = context_.now();
      if (!transactions_) {
        context_.oracle.OnReported(report.record.event);
      }
    } else if (HasCode(report.error, ErrorCode::kBatchTooLarge) && !progress &&
               use_.too_large.insert(report.record.event).second) {
      use_.last_report = context_.now();  // the relay may skip this row
    }
    if (report.error.ok() || Mutant(MutantId::kCountErrorAsAck)) {
      listener.OnDelivered(
          {.token = report.record.token, .bytes = report.record.bytes, .topic = report.topic});
    } else {
      listener.OnFailed({.token = report.record.token,
                         .bytes = report.record.bytes,
                         .error = report.error,
                         .purged = report.purged});
    }
  }
  if (!spent_.ok()) {
    fatal_ = std::exchange(spent_, absl::OkStatus());
    use_.failed = true;
    signalled_ = true;
  }
}

// --- transactions

void SimProducer::UseTransactions(std::string id, Micros timeout) {
  transactions_ =
      std::make_unique<SimTransactions>(context_, kafka_, *this, std::move(id), timeout);
  transactions_->Claim();
}

std::optional<Transactions::Claim> SimProducer::TakeClaim() {
  const auto claimed = transactions_->TakeClaimed();
  if (!claimed) {
    return std::nullopt;
  }
  host_.OnClaimed(*claimed);
  return Transactions::Claim{*claimed};
}

void SimProducer::Commit() {
  if (!transactions_) {
    context_.oracle.Fail("EO3 progress", "a commit without transactions");
    return;
  }
  transactions_->Commit();
}

void SimProducer::SendTo(const TopicPartition& partition) {
  if (const auto lane = lanes_.find(partition); lane != lanes_.end()) {
    SendFrom(lane->second);
  }
}

void SimProducer::ReportCommitted(const absl::Status& next) {
  std::stable_partition(withheld_.begin(), withheld_.end(),
                        [](const Reported& report) { return report.record.event != kNoEvent; });
  reports_.insert(reports_.end(), withheld_.begin(), withheld_.end());
  withheld_.clear();
  spent_ = next;
  signalled_ = true;
}

void SimProducer::SendAgain() {
  for (const Reported& report : std::exchange(withheld_, {})) {
    lanes_.at({report.topic, report.partition}).queue.push_back(report.record);
  }
  for (const auto& [partition, lane] : lanes_) {
    Later(Micros(0), [partition = partition](SimProducer& self) { self.SendTo(partition); });
  }
}

void SimProducer::FailTransaction(const absl::Status& error) {
  if (!fatal_.ok()) {
    return;
  }
  context_.Note("[kafka] the producer fails: {}", MessageOf(error));
  fatal_ = error;
  use_.failed = true;
  transactions_->OnFailed();
  kafka_.coordinator().Interrupt(kLongestBlocked);
  for (Reported& report : std::exchange(withheld_, {})) {
    report.error = fatal_;
    report.purged = kPurged;
    reports_.push_back(std::move(report));
  }
  for (auto& [name, lane] : lanes_) {
    PurgeQueue(lane, /*also_sent=*/true);
  }
  signalled_ = true;
}

void SimProducer::AbandonUndelivered() {
  for (auto& [name, lane] : lanes_) {
    PurgeQueue(lane, /*also_sent=*/true);
  }
}

void SimProducer::FailWhileIdle() {
  if (queued_ == 0 && alive_ && fatal_.ok()) {
    context_.coverage.Count("a producer fails with nothing in flight");
    fatal_ = Error(ErrorCode::kProducerFailed, "fenced");
    if (transactions_) {
      transactions_->OnFailed();
    }
    use_.failed = true;
    signalled_ = true;
  }
}

absl::Status SimProducer::FatalError() const {
  return fatal_;
}

SinkHealth SimProducer::health() const {
  SinkHealth health{.reachable = !kafka_.down, .outdated = outdated()};
  if (outdated()) {
    health.trouble = Error(ErrorCode::kKafkaLogin, "authentication failed");
  } else if (kafka_.down) {
    health.trouble = Error(ErrorCode::kKafkaUnreachable, "all brokers are down");
  }
  return health;
}

void SimProducer::Examine() {
  if (std::exchange(examining_, true)) {
    return;
  }
  Later(6 * kafka_.latency, [](SimProducer& self) {
    self.examination_ = Examination{.brokers = self.AskBrokers(), .state = ""};
    self.context_.coverage.Count(self.examination_->brokers.ok()
                                     ? "another client finds leaders"
                                     : "another client finds no leader");
    self.signalled_ = true;
  });
}

std::optional<Examination> SimProducer::TakeExamination() {
  examining_ = examining_ && !examination_;
  return std::exchange(examination_, std::nullopt);
}

absl::Status SimProducer::AskBrokers() {
  if (kafka_.down) {
    return Error(ErrorCode::kKafkaUnreachable, "no broker responds");
  }
  for (const auto& [name, state] : topics_) {
    const SimTopic& settings = kafka_.topic(name);
    if (state.metadata == Metadata::kAsked && (!settings.exists || settings.denied)) {
      return Error(ErrorCode::kTopicDenied, name);
    }
  }
  for (const auto& [name, lane] : lanes_) {
    const bool waits = !lane.queue.empty() || !lane.sent.empty();
    if (waits && kafka_.leaderless == lane.partition) {
      return Error(ErrorCode::kKafkaStalled, lane.topic + ": no leader");
    }
    if (waits && kafka_.in_sync(lane.topic, lane.partition) < SimKafka::kMinInSync) {
      return Error(ErrorCode::kKafkaStalled, lane.topic + ": too few in-sync replicas");
    }
  }
  return absl::OkStatus();
}

// --- librdkafka's own threads ---

void SimProducer::Later(Micros delay, std::function<void(SimProducer&)> action) {
  context_.After(delay, [self = weak_from_this(), action = std::move(action)] {
    const auto producer = self.lock();
    if (!producer || !producer->alive_) {
      return;
    }
    if (producer->host_.asleep()) {
      producer->missed_.push_back(action);
    } else {
      action(*producer);
    }
  });
}

void SimProducer::OnAwake() {
  for (const auto& action : std::exchange(missed_, {})) {
    action(*this);
  }
}

void SimProducer::SendFrom(Lane& lane) {
  if (wedged_ || !fatal_.ok() || (lane.queue.empty() && lane.sent.empty())) {
    return;
  }
  if (transactions_ && !transactions_->MaySendTo({lane.topic, lane.partition})) {
    return;
  }
  const auto under_way = [&lane] {
    return static_cast<size_t>(std::count_if(lane.sent.begin(), lane.sent.end(),
                                             [](const Sent& sent) { return sent.under_way; }));
  };
  if (lane.resend) {
    if (under_way() == 0) {
      lane.resend = false;
      for (Sent& sent : lane.sent) {
        Send(lane, sent);
      }
    }
    return;
  }
  while (!lane.queue.empty() && under_way() < options_.batches_under_way) {
    Form(lane);
    Send(lane, lane.sent.back());
  }
}

void SimProducer::Form(Lane& lane) {
  Sent& sent = lane.sent.emplace_back();
  sent.batch.producer = id_;
  sent.batch.checked = lane.checked;
  sent.batch.first_sequence = lane.next_sequence;
  const bool outside =
      (Mutant(MutantId::kProgressOutsideTransaction) && lane.topic == kProgressTopic) ||
      (Mutant(MutantId::kDeadLetterOutside) && lane.topic == kDeadLetterTopic);
  if (transactions_ && !outside) {
    transactions_->Stamp(sent.batch);
  }
  while (!lane.queue.empty() && sent.records.size() < options_.batch_records &&
         (sent.records.empty() || sent.batch.bytes + lane.queue.front().bytes <= batch_bytes_)) {
    const Pending record = lane.queue.front();
    lane.queue.pop_front();
    sent.batch.events.push_back(record.event);
    sent.batch.positions.push_back(record.position);
    if (record.event == kNoEvent) {
      sent.batch.progress.push_back(record.progress);
    }
    sent.batch.bytes += record.bytes;
    sent.batch.latest = std::max(sent.batch.latest, record.time);
    sent.records.push_back(record);
    ++lane.next_sequence;
  }
}

void SimProducer::Send(Lane& lane, Sent& sent) {
  sent.under_way = true;
  const uint32_t attempt = ++sent.attempt;
  const uint32_t sequence = sent.batch.first_sequence;
  const Micros there = context_.random.Between(kafka_.latency, kafka_.latency_most);
  const Micros back = context_.random.Between(kafka_.latency, kafka_.latency_most);
  const bool request_lost = context_.random.Chance(kafka_.lost_requests) || outdated();
  const bool answer_lost = context_.random.Chance(kafka_.lost_answers);
  sent.batch.oldest = &sent == &lane.sent.front();
  sent.batch.connection = kafka_.changes();
  const auto arrive = [this, self = shared_from_this(), &lane, batch = sent.batch, sequence,
                       attempt, back, answer_lost] {
    const Answer answer = kafka_.Append(lane.topic, lane.partition, batch);
    if (!answer_lost && !(kafka_.down && answer == Answer::kTryAgain)) {
      Later(back, [&lane, sequence, attempt, answer](SimProducer& producer) {
        producer.OnAnswer(lane, sequence, attempt, answer);
      });
    }
  };
  if (!request_lost) {
    context_.After(there, arrive);
  } else if (transactions_ && context_.random.Chance(30)) {
    context_.After(context_.random.Between(kafka_.request_timeout, kLongestLate), arrive);
  }
  // No response in time: the batch may or may not have been appended.
  Later(kafka_.request_timeout, [&lane, sequence, attempt](SimProducer& producer) {
    producer.OnAnswer(lane, sequence, attempt, Answer::kTryAgain);
  });
}

void SimProducer::OnAnswer(Lane& lane, uint32_t sequence, uint32_t attempt, Answer answer) {
  if (wedged_) {
    return;
  }
  const auto sent = std::find_if(lane.sent.begin(), lane.sent.end(), [&](const Sent& other) {
    return other.batch.first_sequence == sequence;
  });
  if (sent == lane.sent.end() || sent->attempt != attempt || !sent->under_way) {
    return;
  }
  sent->under_way = false;
  if (answer == Answer::kAppended) {
    Report(lane, sent->records, absl::OkStatus());
    lane.sent.erase(sent);
    SendFrom(lane);
    if (transactions_) {
      transactions_->OnAcknowledged();
    }
  } else if (!fatal_.ok()) {
    Report(lane, sent->records, fatal_, kPurged);
    lane.sent.erase(sent);
  } else if (answer == Answer::kTryAgain) {
    Retry(lane);
  } else {
    const std::vector<Pending> records = sent->records;
    lane.sent.erase(sent);
    Fail(lane, records, answer);
  }
}

void SimProducer::Retry(Lane& lane) {
  context_.coverage.Count("producer retries");
  lane.resend = true;
  Later(kRetryBackoff, [&lane](SimProducer& self) { self.SendFrom(lane); });
}

void SimProducer::Fail(Lane& lane, const std::vector<Pending>& records, Answer answer) {
  const absl::Status cause = ErrorOf(answer, lane.topic);
  context_.Note("[kafka] a batch is rejected: {}", MessageOf(cause));
  if (transactions_) {
    const bool fenced = answer == Answer::kFenced;
    const absl::Status fatal = Error(
        fenced ? ErrorCode::kProducerFenced : ErrorCode::kTransactionAborted, MessageOf(cause));
    Report(lane, records, fenced ? fatal : cause, /*purged=*/fenced);
    FailTransaction(fatal);
    return;
  }
  if (Mutant(MutantId::kReproduceFailed)) {
    lane.queue.insert(lane.queue.end(), records.begin(), records.end());  // after its successors
    lane.checked = false;
    Retry(lane);
    return;
  }
  Report(lane, records, cause);
  if (Mutant(MutantId::kNotGapless)) {
    lane.checked = false;
    SendFrom(lane);
    return;
  }
  fatal_ = Error(ErrorCode::kProducerFailed, "gapless guarantee");
  use_.failed = true;
  for (auto& [name, other] : lanes_) {
    PurgeQueue(other, /*also_sent=*/&other == &lane);
  }
}

// Batches in flight to other partitions may still arrive and be acknowledged.
void SimProducer::PurgeQueue(Lane& lane, bool also_sent) {
  std::erase_if(lane.sent, [&](const Sent& sent) {
    const bool purge = also_sent || !sent.under_way;
    if (purge) {
      Report(lane, sent.records, fatal_, kPurged);
    }
    return purge;
  });
  const std::vector<Pending> records(lane.queue.begin(), lane.queue.end());
  lane.queue.clear();
  Report(lane, records, fatal_, kPurged);
}

void SimProducer::Report(const Lane& lane, const std::vector<Pending>& records,
                         const absl::Status& error, bool purged) {
  const bool withhold = transactions_ && error.ok() && !Mutant(MutantId::kConfirmAtDelivery);
  for (const Pending& record : records) {
    (withhold ? withheld_ : reports_)
        .push_back({record, lane.topic, lane.partition, error, purged});
  }
  signalled_ = true;
}

}  // namespace walrelay::sim
