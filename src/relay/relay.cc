#include "relay/relay.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "base/log.h"
#include "base/mutant.h"
#include "txn/retained_limit.h"
#include "walrelay/error.h"

namespace walrelay {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr Micros kFirstReconnect = milliseconds(100);
constexpr Micros kLongestReconnect = seconds(10);
constexpr Micros kFirstProducerRetry = milliseconds(250);
constexpr Micros kLongestProducerRetry = seconds(30);
constexpr Micros kLookAtSlot = milliseconds(500);
// Brokers may have moved to addresses that this producer cannot know.
constexpr Micros kStallRebuild = seconds(300);
constexpr Micros kFinishPatience = seconds(2);
constexpr Micros kBusyPatience = milliseconds(200);  // with a server that has other things to do
constexpr int kRepeatsUntilStuck = 3;
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
  (void)WasSuspended(now);
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
        if (!WasSuspended(parts_.clock.Now()) && !status.ok()) {
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

// --- Postgres
// --------------------------------------------------------------------------------------

void Relay::Connect(MonoTime now) {
  const absl::Status status = OpenAndStart();
  if (!status.ok()) {
    OnConnectError(status, now);
    return;
  }
  phase_ = Phase::kStreaming;
  has_streamed_ = true;
  dropping_ = absl::OkStatus();
  last_error_ = absl::OkStatus();
  noted_frontier_ = tracker_.frontier();
}

absl::StatusOr<SourceFacts> Relay::OpenServer() {
  WR_ASSIGN_OR_RETURN(SourceFacts facts, parts_.source.Open());
  if (!Mutant(MutantId::kLookAtServerLast)) {
    WR_RETURN_IF_ERROR(CheckServer(memory_, facts.server));
  }
  return facts;
}

absl::StatusOr<SourceFacts> Relay::OpenSource() {
  WR_ASSIGN_OR_RETURN(SourceFacts facts, OpenServer());
  // Before anything that would keep us waiting here while the disk fills.
  while (facts.slot && MustDropSlot(parts_.config.source, facts.server, *facts.slot) &&
         !Mutant(MutantId::kForgetLimit)) {
    WR_RETURN_IF_ERROR(GiveUpSlot(facts));
    // It was kept after all; and this server process has answered a query.
    WR_ASSIGN_OR_RETURN(facts, OpenServer());
  }
  if (!facts.slot && !dropping_.ok()) {
    return dropping_;
  }
  const auto problems = PublicationProblems(facts, parts_.config.source.publication);
  if (!problems.empty()) {
    return problems.front();
  }
  if (Mutant(MutantId::kRemakeSlot) && !facts.slot) {
    memory_.reset();
  }
  if (!facts.slot && !memory_ && parts_.config.source.create_slot) {
    WR_RETURN_IF_ERROR(parts_.source.CreateSlot());
    LogInfo("slot_created", "made the replication slot; rows committed from now on are relayed",
            {{"slot", parts_.config.source.slot}});
    return parts_.source.Open();
  }
  return facts;
}

// Drops the slot, for it keeps more of the primary's disk than the operator wants to give. OK: it
// does so no longer.
absl::Status Relay::GiveUpSlot(const SourceFacts& facts) {
  // One that we could not read is not ours to drop.
  WR_RETURN_IF_ERROR(DecideStart(memory_, facts).status());
  WR_ASSIGN_OR_RETURN(const auto slot, parts_.source.InspectSlot());
  if (!slot || !MustDropSlot(parts_.config.source, facts.server, *slot)) {
    return absl::OkStatus();
  }
  // Kept for the case that the answer is lost on its way: then the slot is found missing.
  dropping_ = SlotDropped(parts_.config.source, facts.server, *slot, oldest_unpublished_);
  LogWarning("dropping_slot", "the slot keeps as much log as it may: dropping it",
             {{"slot", parts_.config.source.slot},
              {"retained_bytes", BytesBetween(slot->restart, facts.server.wal_end)},
              {"confirmed", slot->confirmed_flush},
              {"in_flight", tracker_.records_in_flight()}});
  WR_RETURN_IF_ERROR(parts_.source.DropSlot());
  return dropping_;
}

absl::Status Relay::OpenAndStart() {
  WR_ASSIGN_OR_RETURN(const SourceFacts facts, OpenSource());
  if (facts.slot && facts.slot->active) {
    return TakeSlot(*facts.slot);
  }
  WR_ASSIGN_OR_RETURN(const StartDecision decision, DecideStart(memory_, facts));
  WR_RETURN_IF_ERROR(EnsureProducer(decision.keep_in_flight));
  WR_RETURN_IF_ERROR(parts_.source.Start(decision.position));
  if (decision.keep_in_flight) {
    tracker_.Resume();
  } else {
    tracker_.Restart(decision.position);
  }
  own_backend_pid_ = facts.server.backend_pid;
  memory_ = StreamMemory{.system_id = facts.server.system_id,
                         .timeline = facts.server.timeline,
                         .ancestors = facts.server.ancestors};
  Remember();
  pipeline_.StartSession(facts.tables);
  session_ = std::make_unique<Session>(Session::Parts{parts_.config, parts_.clock, parts_.source,
                                                      pipeline_, tracker_, parts_.metrics, stages_},
                                       facts.server.wal_sender_timeout);
  LogStart(facts, decision);
  return absl::OkStatus();
}

void Relay::LogStart(const SourceFacts& facts, const StartDecision& decision) const {
  LogInfo("streaming", "reading the slot",
          {{"slot", parts_.config.source.slot},
           {"start", decision.position},
           {"confirmed", facts.slot->confirmed_flush},
           {"server_version", facts.server.version},
           {"timeline", facts.server.timeline},
           {"in_flight", tracker_.records_in_flight()}});
  if (decision.timeline_switched) {
    LogWarning(
        "timeline_switched",
        "another server was promoted; with asynchronous replication, events may be in Kafka whose "
        "transactions it does not know",
        {{"timeline", facts.server.timeline},
         {"fork", decision.fork},
         {"confirmed", decision.position}});
  }
  if (decision.taken_over) {
    LogInfo("taken_over", "another instance relayed in between",
            {{"confirmed", decision.position}});
  }
}

// The slot is in use: by another instance, for which this one stands by, or by a connection of ours
// that broke and that the server has not noticed yet. That one is ended.
absl::Status Relay::TakeSlot(const SlotFacts& slot) {
  NoteHolder(slot);
  if (Mutant(MutantId::kStealSlot)) {
    own_backend_pid_ = slot.active_pid;
  }
  if (slot.active_pid != own_backend_pid_) {
    return Error(ErrorCode::kSlotBusy, fmt::format("server process {} holds it", slot.active_pid));
  }
  WR_RETURN_IF_ERROR(parts_.source.TerminateBackend(own_backend_pid_));
  return Error(ErrorCode::kConnectionLost, "our last connection still held the slot; ended it");
}

void Relay::NoteHolder(const SlotFacts& slot) {
  if (memory_ && slot.active_pid != own_backend_pid_) {
    memory_->slot_was_taken = true;
  }
}

void Relay::WaitForSlot(MonoTime now) {
  const auto slot = parts_.source.InspectSlot();
  if (!slot.ok()) {
    Disconnect(slot.status(), now);
    return;
  }
  if (*slot && (*slot)->active) {
    NoteHolder(**slot);
    retry_at_ = now + kLookAtSlot;
    return;
  }
  Connect(now);
}

void Relay::OnConnectError(const absl::Status& error, MonoTime now) {
  if (absl::IsCancelled(error)) {
    // Asked to stop while connecting; the loop brings the reason.
    parts_.source.Close();
    retry_at_ = now + kFirstReconnect;
    return;
  }
  switch (ReactionTo(error)) {
    case Reaction::kConfiguration:
    case Reaction::kUsage:
    case Reaction::kGap:
      Finish(error);
      return;
    case Reaction::kDefinite:
      if (!has_streamed_) {
        Finish(error);
        return;
      }
      break;
    case Reaction::kStandby:
      if (phase_ != Phase::kWaitingForSlot) {
        LogInfo("standby", "the slot is in use; waiting for it", {{"reason", MessageOf(error)}});
      }
      phase_ = Phase::kWaitingForSlot;
      last_error_ = error;
      retry_at_ = now + kLookAtSlot;
      return;
    case Reaction::kRetry:
    case Reaction::kBlocked:
      break;
  }
  Disconnect(error, now);
}

void Relay::OnSessionError(const absl::Status& error, MonoTime now) {
  NoteProgress();
  const absl::Status cause = CountRepeats(error);
  if (ReactionTo(cause) == Reaction::kBlocked) {
    standing_ = cause;
  }
  if (ReactionTo(cause) == Reaction::kGap) {
    EndSession();
    Finish(cause);
    return;
  }
  // With the error at hand the producer may have failed too: that weighs more.
  if (producer_ != nullptr && !producer_->Health().ok()) {
    StopTheLine(producer_->Health(), now);
    return;
  }
  Disconnect(cause, now);
}

// What fails three times at the same position will fail again: say so, for it needs a person.
absl::Status Relay::CountRepeats(const absl::Status& error) {
  const bool counts =
      HasCode(error, ErrorCode::kProtocolViolation) || HasCode(error, ErrorCode::kPostgresError);
  const bool same = CodeOf(error) == repeated_code_ && tracker_.resume() == repeated_at_;
  repeats_ = counts ? (same ? repeats_ + 1 : 1) : 0;
  repeated_code_ = CodeOf(error);
  repeated_at_ = tracker_.resume();
  if (repeats_ < kRepeatsUntilStuck) {
    return error;
  }
  return Error(ErrorCode::kStreamStuck, fmt::format("{} times at {}: {}", repeats_,
                                                    repeated_at_.ToString(), MessageOf(error)));
}

void Relay::Disconnect(const absl::Status& error, MonoTime now) {
  const Micros wait = reconnect_backoff_.Next();
  LogStatus(LogLevel::kWarning, "disconnected", error,
            {{"frontier", tracker_.frontier()},
             {"in_flight", tracker_.records_in_flight()},
             {"retry_in_ms", wait.count() / 1000}});
  parts_.board.NoteError(error, parts_.clock.WallNow());
  parts_.metrics.replication_disconnects[ToString(CodeOf(error))].Increment();
  if (phase_ == Phase::kStreaming) {
    disconnected_since_ = now;
  }
  EndSession();
  parts_.source.Close();
  phase_ = Phase::kDisconnected;
  last_error_ = error;
  retry_at_ = now + wait;
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
bool Relay::WasSuspended(MonoTime now) {
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

void Relay::OnServerShuttingDown() {
  if (phase_ != Phase::kDisconnected && !draining_ && !Mutant(MutantId::kHoldUpShutdown)) {
    StepAside(Error(ErrorCode::kPostgresShuttingDown, "stepping aside"), kBusyPatience);
  }
}

// Whether the slot is dropped is decided on the next connection, by what is found there.
void Relay::OnRetainedLimit() {
  if (phase_ == Phase::kStreaming && !draining_) {
    StepAside(Error(ErrorCode::kSlotAtRisk,
                    "the slot keeps source.max_retained_wal; looking at it once more, to drop it"),
              kFinishPatience);
  }
}

// A server process that cannot send does not end either, and the checkpoint that waits for it holds
// up the whole server. While the stream is read, its farewell gets through.
void Relay::OnSlotAlmostLost() {
  if (phase_ == Phase::kStreaming && session_->held_since() && !draining_ &&
      !Mutant(MutantId::kHoldUpCheckpoint)) {
    StepAside(Error(ErrorCode::kSlotAtRisk,
                    "past max_slot_wal_keep_size the server ends the stream at a checkpoint, and "
                    "would wait for it while nothing is read; stepping aside"),
              kBusyPatience);
  }
}

// Ends the stream in good order, so that what is acknowledged is confirmed and counts. Best effort:
// the server may be too busy to read it.
void Relay::StepAside(const absl::Status& reason, Micros patience) {
  if (session_ != nullptr) {
    (void)session_->Finish(patience);
  }
  Disconnect(reason, parts_.clock.Now());
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
