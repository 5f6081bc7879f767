#include "relay/relay.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "base/log.h"
#include "base/mutant.h"
#include "walrelay/error.h"

namespace walrelay {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr Micros kFirstReconnect = milliseconds(100);
constexpr Micros kLongestReconnect = seconds(10);
constexpr Micros kFirstProducerRetry = milliseconds(250);
constexpr Micros kLongestProducerRetry = seconds(30);
// Brokers may have moved to addresses that this producer cannot know.
constexpr Micros kStallRebuild = seconds(300);
constexpr Micros kFinishPatience = seconds(2);
// A record or two; librdkafka takes no less for a batch.
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
        if (now >= retry_at_) {
          Connect(now);
          awake_at_ = parts_.clock.Now();  // to connect may take its time
        }
        break;
      case Phase::kWaitingForSlot:
        if (now >= retry_at_) {
          WaitForSlot(now);
          awake_at_ = parts_.clock.Now();
        }
        break;
      case Phase::kStreaming: {
        const absl::Status status = session_->Turn(*producer_, draining_);
        // It may have been in this turn; and what was lost since would hide it.
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
// -----------------------------------------------------------------------------------------

void Relay::TakeReports(MonoTime now) {
  if (producer_ == nullptr) {
    return;
  }
  delivery_error_ = absl::OkStatus();
  producer_->Poll(*this);
  // A report names the cause; what the producer says of itself is mostly that it has failed.
  const absl::Status error = delivery_error_.ok() ? producer_->Health() : delivery_error_;
  if (!error.ok()) {
    StopTheLine(error, now);
    return;
  }
  WatchForStall(now);
}

void Relay::WatchForStall(MonoTime now) {
  if (tracker_.records_in_flight() == 0) {
    last_delivery_ = now;
  } else if (now - last_delivery_ > kStallRebuild) {
    StopTheLine(
        Error(ErrorCode::kKafkaStalled, "no acknowledgement for five minutes; starting afresh"),
        now);
  }
}

void Relay::OnDelivered(const Delivery& delivery) {
  const auto commit_time = tracker_.OnDelivered(delivery.token, delivery.bytes);
  if (!commit_time) {
    return;
  }
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

void Relay::OnFailed(DeliveryToken /*token*/, const absl::Status& error) {
  parts_.metrics.produce_errors[ToString(CodeOf(error))].Increment();
  // One of them is the cause; the others failed with it, and say only that.
  if (delivery_error_.ok() || HasCode(delivery_error_, ErrorCode::kProducerFailed)) {
    delivery_error_ = error;
  }
}

// The one way out of trouble with Kafka. A record that failed alone and is produced again would
// stand behind its successors; so all that is in flight is given up and read again from the
// frontier.
void Relay::StopTheLine(const absl::Status& cause, MonoTime now) {
  NoteProgress();
  const absl::Status error = ShrinkBatches(cause);
  LogStatus(LogLevel::kWarning, "line_stopped", error,
            {{"in_flight", tracker_.records_in_flight()}, {"frontier", tracker_.frontier()}});
  parts_.board.NoteError(error, parts_.clock.WallNow());
  if (ReactionTo(error) == Reaction::kBlocked) {
    standing_ = error;
  }
  if (!Mutant(MutantId::kCountLateReports) || !producer_->Health().ok()) {
    producer_.reset();
  }
  EndSession();
  const Lsn handled = tracker_.resume();
  tracker_.Reset();
  Remember();
  if (Mutant(MutantId::kForgetWindow) && memory_) {
    memory_->resume = handled;
  }
  parts_.source.Close();
  phase_ = Phase::kDisconnected;
  last_error_ = error;
  disconnected_since_ = now;
  retry_at_ = now + (HasCode(error, ErrorCode::kBatchTooLarge) ? kFirstProducerRetry
                                                               : producer_backoff_.Next());
}

// A broker measures a batch, not a record, against the topic's limit, and librdkafka does not split
// a batch that was refused. So the next producer makes smaller ones; down to single records, where
// it is the record that is too large. (To ask for each topic's limit would need a further right.)
absl::Status Relay::ShrinkBatches(const absl::Status& error) {
  if (!HasCode(error, ErrorCode::kBatchTooLarge)) {
    return error;
  }
  if (max_batch_bytes_ > kLeastBatchBytes) {
    max_batch_bytes_ = std::max(max_batch_bytes_ / 4, kLeastBatchBytes);
    return error;
  }
  return Error(ErrorCode::kDeliveryRefused,
               fmt::format("{}; a single record is larger than the topic takes", MessageOf(error)),
               "Raise the topic's max.message.bytes. walrelay offers the event again by itself.");
}

absl::Status Relay::EnsureProducer(bool keep_in_flight) {
  if (producer_ != nullptr && (keep_in_flight || tracker_.records_in_flight() == 0)) {
    return absl::OkStatus();
  }
  producer_.reset();
  tracker_.Reset();
  auto producer = parts_.make_producer(max_batch_bytes_);
  WR_RETURN_IF_ERROR(producer.status());
  producer_ = *std::move(producer);
  parts_.metrics.producers_started->Increment();
  return absl::OkStatus();
}

// Progress, not a mere connection, ends a series of failures; and each progress only once, or what
// was achieved before an outage would end it again and again.
void Relay::NoteProgress() {
  if (tracker_.frontier() > noted_frontier_) {
    noted_frontier_ = Mutant(MutantId::kForgetNoProgress) ? noted_frontier_ : tracker_.frontier();
    reconnect_backoff_.Reset();
    producer_backoff_.Reset();
    if (max_batch_bytes_ <= kLeastBatchBytes) {
      max_batch_bytes_ = parts_.config.kafka.max_batch_bytes;  // it was one record, and it went
    }
    standing_ = absl::OkStatus();
  }
}

void Relay::EndSession() {
  if (session_ != nullptr) {
    oldest_unpublished_ = tracker_.oldest_commit_time();
  }
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

// A process that was stopped for longer than the server waits has lost its slot; another may relay
// now. What it holds must not be sent behind the other's back.
bool Relay::StopIfSuspended(MonoTime now) {
  const Micros longest = std::max<Micros>(parts_.config.source.wal_sender_timeout, seconds(10));
  const Micros away = now - std::exchange(awake_at_, now);
  if (phase_ != Phase::kStreaming || away <= longest) {
    return false;
  }
  StopTheLine(Error(ErrorCode::kSuspended,
                    fmt::format("for {} s", std::chrono::duration_cast<seconds>(away).count())),
              now);
  return true;
}

// --- ending
// ----------------------------------------------------------------------------------------

void Relay::Drain() {
  if (!draining_) {
    draining_ = true;
    drain_deadline_ = parts_.clock.Now() + parts_.config.pipeline.drain_timeout;
    LogInfo("draining", "finishing what is under way",
            {{"in_flight", tracker_.records_in_flight()}});
  }
}

void Relay::ContinueDrain(MonoTime now) {
  if (phase_ != Phase::kStreaming) {
    // Nothing can be confirmed without a stream; what is in flight will come again.
    Finish(absl::OkStatus());
    return;
  }
  const bool acknowledged = tracker_.records_in_flight() == 0;
  const bool stands = !session_->obstacle().ok();
  const bool complete = (acknowledged && (stands || !pipeline_.in_transaction())) ||
                        Mutant(MutantId::kDrainWithoutWaiting);
  if (!complete && now < drain_deadline_) {
    return;
  }
  if (!complete) {
    LogStatus(LogLevel::kWarning, "drain_timeout",
              Error(ErrorCode::kDrainTimeout,
                    fmt::format("{} records are in flight", tracker_.records_in_flight())));
  }
  const absl::Status finished = session_->Finish(kFinishPatience);
  LogInfo("stopped",
          finished.ok() ? "everything that was acknowledged is confirmed"
                        : "stopped; the server did not say that it has read the last status",
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
  if (draining_) {
    wakeup.at = std::min(wakeup.at, drain_deadline_);
    wakeup.source_readable = wakeup.source_readable && pipeline_.in_transaction();
  }
  wakeup.at = std::min(wakeup.at, now + seconds(1));
  return wakeup;
}

}  // namespace walrelay
