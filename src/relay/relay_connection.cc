// The relay's way to a stream and off it: which server and which slot are read, from where, and
// what becomes of a connection that could not be made, was lost, or is given up.

#include <fmt/format.h>

#include "base/log.h"
#include "base/mutant.h"
#include "relay/relay.h"
#include "txn/retained_limit.h"
#include "walrelay/error.h"

namespace walrelay {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr Micros kAfterCancelling = milliseconds(100);
constexpr Micros kLookAtSlot = milliseconds(500);
constexpr Micros kGivingUpPatience = seconds(2);
constexpr Micros kBusyPatience = milliseconds(200);  // with a server that has other things to do
constexpr int kRepeatsUntilStuck = 3;

}  // namespace

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
                                       facts.server);
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
    retry_at_ = now + kAfterCancelling;
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
              kGivingUpPatience);
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

}  // namespace walrelay
