#include "relay/relay.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "base/log.h"
#include "walrelay/error.h"

namespace walrelay {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr Micros kFirstReconnect = milliseconds(100);
constexpr Micros kLongestReconnect = seconds(10);
// A stream that fails at the same position: each attempt makes the server decode the same WAL
// again.
constexpr Micros kFirstStuckRetry = seconds(10);
constexpr Micros kLongestStuckRetry = seconds(120);
constexpr Micros kFirstProducerRetry = milliseconds(250);
constexpr Micros kLongestProducerRetry = seconds(30);
constexpr Micros kStallRebuild = seconds(300);
constexpr Micros kRenewPatience = seconds(30);
// After a producer failed: records in flight to other brokers may still be acknowledged.
constexpr Micros kLateReports = milliseconds(500);
constexpr Micros kReportPatience = seconds(5);
constexpr Micros kFinishPatience = seconds(2);
// One or two records; librdkafka's minimum batch size.
constexpr int64_t kLeastBatchBytes = 1024;

}  // namespace

Relay::Relay(Parts parts, Router router)
    : parts_(std::move(parts)),
      stages_(parts_.metrics),
      pipeline_(parts_.config, std::move(router), tracker_, parts_.metrics),
      retry_at_(parts_.clock.Now()),
      reconnect_backoff_(kFirstReconnect, kLongestReconnect, parts_.seed),
      producer_backoff_(kFirstProducerRetry, kLongestProducerRetry, parts_.seed + 1),
      max_batch_bytes_(parts_.config.kafka.max_batch_bytes),
      stuck_backoff_(kFirstStuckRetry, kLongestStuckRetry, parts_.seed + 2),
      last_delivery_(retry_at_),
      disconnected_since_(retry_at_) {}

Relay::~Relay() = default;

Wakeup Relay::Turn() {
  const MonoTime now = parts_.clock.Now();
  parts_.board.Beat(now);
  StopIfSuspended(now);
  TakeReports(now);
  if (draining_) {
    ContinueDrain(now);
  }
  if (!finished_) {
    switch (phase_) {
      case Phase::kDisconnected:
        if (now >= retry_at_ || KafkaTakesAgain()) {
          Connect(now);
          awake_at_ = parts_.clock.Now();  // a connection attempt may take long
        }
        break;
      case Phase::kWaitingForSlot:
        if (now >= retry_at_) {
          WaitForSlot(now);
          awake_at_ = parts_.clock.Now();
        }
        break;
      case Phase::kStreaming: {
        const absl::Status status = session_->Turn(ProducerInUse(now), draining_);
        // The suspension may have happened in this turn; a connection lost because of it would hide
        // it.
        if (!StopIfSuspended(parts_.clock.Now()) && !status.ok()) {
          OnSessionError(status, now);
        }
        break;
      }
    }
  }
  parts_.metrics.FlushLatencies();
  PublishStatus(now);
  return NextWakeup(parts_.clock.Now());
}

// --- Kafka

void Relay::TakeReports(MonoTime now) {
  if (producer_ == nullptr) {
    return;
  }
  producer_->Poll(*this);
  // A delivery report names the cause; the producer's own status usually says only that it has
  // failed.
  const absl::Status error = delivery_error_.ok() ? producer_->Health() : delivery_error_;
  if (!error.ok()) {
    failing_since_ = failing_since_.value_or(now);
    const Micros failing = now - *failing_since_;
    if (AllReportsAreIn() || failing > kReportPatience) {
      OnProducerFailed(error, now);
    } else if (failing > kLateReports) {
      producer_->GiveUp();
    }
    return;
  }
  WatchForStall(now);
  if (producer_ != nullptr) {
    RenewProducer(now);
  }
}

// If no record was lost with the producer, nothing has to be read again.
void Relay::OnProducerFailed(const absl::Status& error, MonoTime now) {
  const bool lost = tracker_.records_in_flight() > 0;
  if (lost) {
    // Without all reports it is unknown which rows after the frontier are acknowledged.
    const bool known = AllReportsAreIn() && !unnamed_lost_;
    const auto settled = known ? first_lost_ : std::nullopt;
    // A producer may fail once for a reason unrelated to any record.
    const bool its_own = HasCode(error, ErrorCode::kProducerFailed) &&
                         std::exchange(failed_at_, tracker_.frontier()) != tracker_.frontier();
    if (first_refused_ && !its_own) {
      pipeline_.StepThrough(*first_refused_);
      single_stepping_ = true;
    }
    StartOver(error, now);
    pipeline_.SetSettledBefore(settled);
    return;
  }
  if (HasCode(error, ErrorCode::kBatchTooLarge)) {
    // a single record was refused, sent alone
    max_batch_bytes_ = parts_.config.kafka.max_batch_bytes;
  }
  // A blocking row is logged with its name and retried with its own back-off; a row that does not
  // block is progress.
  const bool of_the_row = !HasCode(error, ErrorCode::kProducerFailed);
  LogStatus(of_the_row ? LogLevel::kDebug : LogLevel::kWarning, "producer_failed", error,
            {{"frontier", tracker_.frontier()}});
  RetireProducer(error, now + (of_the_row ? Micros(0) : producer_backoff_.Next()));
}

// The session continues without a producer until `retry_at`. REQUIRES: nothing is in flight.
void Relay::RetireProducer(const absl::Status& cause, MonoTime retry_at) {
  WR_CHECK(tracker_.records_in_flight() == 0,
           "a producer is retired only when nothing is in flight");
  DestroyProducer();
  producer_error_ = cause;
  producer_retry_at_ = retry_at;
}

// Also clears everything recorded about the producer's failure.
void Relay::DestroyProducer() {
  producer_.reset();
  outdated_since_.reset();
  delivery_error_ = absl::OkStatus();
  failing_since_.reset();
  lost_records_ = 0;
  first_lost_.reset();
  first_refused_.reset();
  unnamed_lost_ = false;
}

// The producer for new records. UnavailableProducer while there is none, and while the current one
// is being replaced: its records in flight are awaited first.
Producer& Relay::ProducerInUse(MonoTime now) {
  if (producer_ == nullptr && now >= *producer_retry_at_) {
    const absl::Status made = MakeProducer();
    if (!made.ok()) {
      LogStatus(LogLevel::kWarning, "producer_failed", made);
      parts_.board.NoteError(made, parts_.clock.WallNow());
      RetireProducer(made, now + producer_backoff_.Next());
    }
  }
  const bool usable = producer_ != nullptr && !outdated_since_ && !failing_since_;
  return usable ? *producer_ : no_producer_;
}

// Certificates have changed, or a login was refused: a new producer reads the files again. It is
// created once nothing is in flight. If that does not happen within kRenewPatience, because of the
// login itself, the records in flight are abandoned.
void Relay::RenewProducer(MonoTime now) {
  if (!producer_->Outdated()) {
    outdated_since_.reset();
    return;
  }
  outdated_since_ = outdated_since_.value_or(now);
  const absl::Status cause =
      producer_->Trouble().ok()
          ? Error(ErrorCode::kProducerFailed, "the producer's credentials have changed")
          : producer_->Trouble();
  if (tracker_.records_in_flight() == 0) {
    LogInfo("producer_renewed", "creating a producer with the current credentials",
            {{"reason", MessageOf(cause)}});
    RetireProducer(cause, now);
  } else if (now - *outdated_since_ > kRenewPatience) {
    StartOver(cause, now);
  }
}

// Records are in flight, or are pending, and no broker answers: brokers may have moved to addresses
// that this producer cannot know. While brokers do answer, a new producer would change nothing, and
// would repeat records that other partitions have acknowledged.
void Relay::WatchForStall(MonoTime now) {
  if (tracker_.records_in_flight() == 0) {
    last_delivery_ = now;
  }
  const auto since = WaitingForKafkaSince();
  if (!since || now - *since <= kStallRebuild || producer_->Reachable()) {
    return;
  }
  const absl::Status cause = Error(
      ErrorCode::kKafkaStalled, "no broker has answered for five minutes; creating a new producer");
  if (tracker_.records_in_flight() == 0) {
    LogStatus(LogLevel::kWarning, "producer_failed", cause);
    RetireProducer(cause, now);
  } else {
    StartOver(cause, now);
  }
}

std::optional<MonoTime> Relay::WaitingForKafkaSince() const {
  if (tracker_.records_in_flight() > 0) {
    return last_delivery_;
  }
  const bool waits = session_ != nullptr && session_->waits_for_topic() && session_->held_since();
  return waits ? std::optional(std::max(producer_made_at_, *session_->held_since())) : std::nullopt;
}

void Relay::OnDelivered(const Delivery& delivery) {
  const auto commit_time = tracker_.OnDelivered(delivery.token, delivery.bytes);
  if (!commit_time) {
    return;
  }
  (void)pipeline_.OnDelivered(delivery.token);
  last_delivery_ = parts_.clock.Now();
  const WallTime wall = parts_.clock.WallNow();
  const Micros latency = std::max(wall - *commit_time, Micros(0));
  last_published_ = wall;
  ++acknowledged_;
  latencies_.Add(latency);
  parts_.metrics.commit_to_ack_seconds.Observe(latency);
  stages_.kafka.Add(delivery.latency);
  if (last_topic_counter_ == nullptr || last_topic_ != delivery.topic) {
    auto& by_topic = parts_.metrics.events_published;
    const bool room = by_topic.size() < static_cast<size_t>(parts_.config.metrics.max_topics);
    last_topic_ = delivery.topic;
    last_topic_counter_ =
        &by_topic[room || by_topic.contains(delivery.topic) ? delivery.topic : "__other__"];
  }
  last_topic_counter_->Increment();
  if (parts_.observer) {
    parts_.observer(delivery, *commit_time);
  }
}

void Relay::OnFailed(const DeliveryFailure& failure) {
  parts_.metrics.produce_errors[ToString(CodeOf(failure.error))].Increment();
  // One report names the cause; the others failed with it and carry no cause of their own.
  if (delivery_error_.ok() || HasCode(delivery_error_, ErrorCode::kProducerFailed)) {
    delivery_error_ = failure.error;
  }
  if (pipeline_.OnRefused(failure.token, failure.error)) {
    tracker_.OnRefused(failure.token, failure.bytes);
    return;
  }
  ++lost_records_;
  const auto position = tracker_.PositionOf(failure.token);
  if (!position) {
    unnamed_lost_ = true;
    return;
  }
  first_lost_ = std::min(first_lost_.value_or(*position), *position);
  if (!failure.purged) {
    first_refused_ = std::min(first_refused_.value_or(*position), *position);
  }
}

// The only recovery when records were lost with their producer. A failed record that is produced
// again would follow its successors; therefore all records in flight are abandoned and read again
// from the frontier.
void Relay::StartOver(const absl::Status& cause, MonoTime now) {
  NoteProgress();
  const absl::Status& error = cause;
  ShrinkBatches(error);
  LogStatus(LogLevel::kWarning, "producer_restarted", error,
            {{"in_flight", tracker_.records_in_flight()}, {"frontier", tracker_.frontier()}});
  parts_.board.NoteError(error, parts_.clock.WallNow());
  // Otherwise the row is named when its record is refused again, alone.
  const bool stepping = std::exchange(single_stepping_, false);
  if (ReactionTo(error) == Reaction::kBlocked && !stepping) {
    standing_ = error;
  }
  DestroyProducer();
  pipeline_.SetSettledBefore(std::nullopt);
  EndSession();
  oldest_unread_ = oldest_unpublished_;
  tracker_.Reset();
  Remember();
  parts_.source.Close();
  phase_ = Phase::kDisconnected;
  // The row that caused the failure is not known yet.
  last_error_ = stepping ? Error(ErrorCode::kProducerFailed, MessageOf(error)) : error;
  disconnected_since_ = now;
  retry_at_ = now + (stepping ? kFirstProducerRetry : producer_backoff_.Next());
}

// A broker compares the size of a batch, not of a record, with the topic's limit, and librdkafka
// does not split a refused batch. Therefore the next producer builds smaller batches. (A query for
// each topic's limit would need an additional ACL.)
void Relay::ShrinkBatches(const absl::Status& error) {
  if (HasCode(error, ErrorCode::kBatchTooLarge)) {
    max_batch_bytes_ = std::max(max_batch_bytes_ / 4, kLeastBatchBytes);
  }
}

absl::Status Relay::EnsureProducer(bool keep_in_flight) {
  if (producer_ != nullptr && (keep_in_flight || tracker_.records_in_flight() == 0)) {
    return absl::OkStatus();
  }
  DestroyProducer();
  tracker_.Reset();
  return MakeProducer();
}

absl::Status Relay::MakeProducer() {
  auto producer = parts_.make_producer(max_batch_bytes_);
  WR_RETURN_IF_ERROR(producer.status());
  producer_ = *std::move(producer);
  producer_error_ = absl::OkStatus();
  producer_retry_at_.reset();
  producer_made_at_ = parts_.clock.Now();
  parts_.metrics.producers_started->Increment();
  return absl::OkStatus();
}

// Progress, not a mere connection, ends a series of failures. Each progress counts only once;
// otherwise progress from before an outage would reset the back-off repeatedly.
void Relay::NoteProgress() {
  if (tracker_.frontier() > noted_frontier_) {
    noted_frontier_ = tracker_.frontier();
    reconnect_backoff_.Reset();
    producer_backoff_.Reset();
    stuck_backoff_.Reset();
    sender_timeout_ = Micros(0);
    standing_ = absl::OkStatus();
    pipeline_.OnFrontier(noted_frontier_);
  }
}

void Relay::EndSession() {
  if (session_ != nullptr) {
    oldest_unpublished_ = OldestUnpublished();
    oldest_unread_ = pipeline_.in_transaction() ? pipeline_.last_commit_time() : std::nullopt;
  }
  pipeline_.EndSession();
  tracker_.AbandonOpen();
  Remember();
  session_.reset();
}

void Relay::Remember() {
  if (memory_) {
    memory_->frontier = tracker_.frontier();
    memory_->resume = tracker_.resume();
  }
}

// A process that was suspended for longer than the server's timeout has lost its slot, and another
// instance may be relaying. Records in flight must not be sent concurrently with that instance.
bool Relay::StopIfSuspended(MonoTime now) {
  const Micros longest = std::max<Micros>(parts_.config.source.wal_sender_timeout, seconds(10));
  const Micros away = now - std::exchange(awake_at_, now);
  if (phase_ != Phase::kStreaming || away <= longest) {
    return false;
  }
  StartOver(Error(ErrorCode::kSuspended,
                  fmt::format("for {} s", std::chrono::duration_cast<seconds>(away).count())),
            now);
  return true;
}

// --- Draining

void Relay::Drain() {
  if (!draining_) {
    draining_ = true;
    drain_deadline_ = parts_.clock.Now() + parts_.config.pipeline.drain_timeout;
    LogInfo("draining", "draining: waiting for acknowledgements before stopping",
            {{"in_flight", tracker_.records_in_flight()}});
  }
}

void Relay::ContinueDrain(MonoTime now) {
  if (phase_ != Phase::kStreaming) {
    // Nothing can be confirmed without a stream; records in flight are published again.
    Finish(absl::OkStatus());
    return;
  }
  const bool acknowledged = tracker_.records_in_flight() == 0;
  const bool stands = !session_->obstacle().ok();
  const bool complete = acknowledged && (stands || !pipeline_.in_transaction());
  if (!complete && now < drain_deadline_) {
    return;
  }
  if (!complete) {
    LogStatus(LogLevel::kWarning, "drain_timeout",
              Error(ErrorCode::kDrainTimeout,
                    fmt::format("{} records are still in flight", tracker_.records_in_flight())));
  }
  const absl::Status finished = session_->Finish(kFinishPatience);
  LogInfo("stopped",
          finished.ok() ? "stopped; all acknowledged events are confirmed"
                        : "stopped; the server did not acknowledge the last status update",
          {{"confirmed", tracker_.frontier()}, {"in_flight", tracker_.records_in_flight()}});
  EndSession();
  Finish(absl::OkStatus());
}

void Relay::Finish(const absl::Status& result) {
  parts_.source.Close();
  session_.reset();
  producer_.reset();
  phase_ = Phase::kDisconnected;
  finished_ = true;
  result_ = result;
}

Wakeup Relay::NextWakeup(MonoTime now) const {
  if (finished_) {
    return {.at = now};
  }
  Wakeup wakeup = phase_ == Phase::kStreaming ? session_->NextWakeup() : Wakeup{.at = retry_at_};
  if (failing_since_) {
    wakeup.at = std::min(wakeup.at, now + milliseconds(100));
  }
  if (phase_ == Phase::kStreaming && producer_retry_at_) {
    wakeup.at = std::min(wakeup.at, *producer_retry_at_);
  }
  if (draining_) {
    wakeup.at = std::min(wakeup.at, drain_deadline_);
    wakeup.source_readable = wakeup.source_readable && pipeline_.in_transaction();
  }
  wakeup.at = std::min(wakeup.at, now + seconds(1));
  return wakeup;
}

}  // namespace walrelay
