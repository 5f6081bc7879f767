// How the relay opens and closes a stream: which server and slot it reads, from which position, and
// how it handles a connection that failed, was lost, or is closed on purpose.

#include <fmt/format.h>

#include "base/log.h"
#include "relay/relay.h"
#include "slot/retained_limit.h"
#include "walrelay/error.h"

namespace walrelay {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr Micros kAfterCancelling = milliseconds(100);
constexpr Micros kLookAtSlot = milliseconds(500);
constexpr Micros kGivingUpPatience = seconds(2);
constexpr Micros kBusyPatience = milliseconds(200);  // with a busy server
constexpr int kRepeatsUntilStuck = 3;
// While a server decodes for a long time it sends nothing. The price of a longer timeout: a dead
// server is noticed later.
constexpr Micros kLongestSenderTimeout = std::chrono::minutes(10);
// While the slot exceeds the server's limit, each connection decodes the WAL from the restart
// position again.
constexpr Micros kAsidePatience = std::chrono::minutes(2);

}  // namespace

void Relay::Connect(MonoTime now) {
  aside_.reset();
  const absl::Status status = OpenAndStart();
  if (!status.ok()) {
    OnConnectError(status, now);
    return;
  }
  phase_ = Phase::kStreaming;
  has_streamed_ = true;
  started_ = true;
  dropping_ = absl::OkStatus();
  last_error_ = absl::OkStatus();
  noted_frontier_ = tracker_.frontier();
}

absl::StatusOr<SourceFacts> Relay::OpenServer() {
  parts_.source.SetSenderTimeout(sender_timeout_);
  WR_ASSIGN_OR_RETURN(SourceFacts facts, parts_.source.Open());
  opened_ = true;
  slot_seen_ = slot_seen_ || facts.slot.has_value();
  if (facts.slot) {
    NoteHolder(*facts.slot);
  }
  return facts;
}

absl::StatusOr<SourceFacts> Relay::OpenSource() {
  // Each pass uses a new server process, which the stream needs after a query, and checks
  // everything again: the server and the publication may have changed since the last pass.
  while (true) {
    WR_ASSIGN_OR_RETURN(const SourceFacts facts, OpenServer());
    const absl::Status gap = JudgeGap(facts);
    // Before any check that could delay us here while the disk fills.
    if (facts.slot && MustDropSlot(parts_.config.source, facts.server, *facts.slot)) {
      if (!gap.ok() && !DecideStart(memory_, facts).ok()) {
        return gap;  // we must not drop this slot; the gap explains why
      }
      WR_RETURN_IF_ERROR(GiveUpSlot(facts));
      continue;  // the slot was kept after all
    }
    WR_RETURN_IF_ERROR(gap);
    const auto problems = PublicationProblems(facts, parts_.config.source.publication);
    if (!problems.empty()) {
      return problems.front();
    }
    if (facts.slot || !MayCreateSlot()) {
      return facts;
    }
    WR_RETURN_IF_ERROR(parts_.source.CreateSlot());
    slot_seen_ = true;  // if it disappears before it is read, rows are lost with it
    LogInfo("slot_created",
            "created the replication slot; rows committed from now on are published",
            {{"slot", parts_.config.source.slot}});
  }
}

// A slot that existed before was removed for a reason, and rows were lost with it.
bool Relay::MayCreateSlot() const {
  const bool known = slot_seen_ || memory_;
  return parts_.config.source.create_slot && !known;
}

// Drops the slot because it retains more WAL on the primary's disk than the operator allows. OK: it
// no longer exceeds the limit.
absl::Status Relay::GiveUpSlot(const SourceFacts& facts) {
  // A slot that we could not read is not ours to drop.
  WR_RETURN_IF_ERROR(DecideStart(memory_, facts).status());
  WR_ASSIGN_OR_RETURN(const auto slot, parts_.source.InspectSlot());
  if (!slot || !MustDropSlot(parts_.config.source, facts.server, *slot)) {
    return absl::OkStatus();
  }
  // Kept in case the reply is lost: then the next connection finds the slot missing.
  dropping_ = SlotDropped(parts_.config.source, facts.server, *slot, oldest_unpublished_);
  LogWarning("dropping_slot", "dropping the slot: it has reached source.max_retained_wal",
             {{"slot", parts_.config.source.slot},
              {"retained_bytes", BytesBetween(slot->restart, facts.server.wal_end)},
              {"confirmed", slot->confirmed_flush},
              {"in_flight", tracker_.records_in_flight()}});
  WR_RETURN_IF_ERROR(parts_.source.DropSlot());
  found_ = MakeGap(dropping_, tracker_.frontier(), publication_, &facts);
  return dropping_;
}

absl::Status Relay::OpenAndStart() {
  WR_ASSIGN_OR_RETURN(const SourceFacts facts, OpenSource());
  if (facts.slot && facts.slot->active) {
    if (IsOthers(*facts.slot)) {
      RememberPublication(facts);
    }
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
  if (!decision.keep_in_flight) {
    pipeline_.ForgetPositions();
  }
  RememberPublication(facts);
  wal_end_at_start_ = facts.server.wal_end;
  session_timeout_ = facts.server.wal_sender_timeout;
  own_backend_pid_ = facts.server.backend_pid;
  memory_ = StreamMemory{.system_id = facts.server.system_id,
                         .timeline = facts.server.timeline,
                         .ancestors = facts.server.ancestors};
  Remember();
  pipeline_.StartSession(facts.tables);
  session_ = std::make_unique<Session>(
      Session::Parts{parts_.config, parts_.clock, parts_.source, pipeline_, tracker_,
                     parts_.metrics, stages_, parts_.snapshots},
      facts.server);
  LogStart(facts, decision);
  return absl::OkStatus();
}

void Relay::LogStart(const SourceFacts& facts, const StartDecision& decision) const {
  LogInfo("streaming", "started streaming from the slot",
          {{"slot", parts_.config.source.slot},
           {"start", decision.position},
           {"confirmed", facts.slot->confirmed_flush},
           {"server_version", facts.server.version},
           {"timeline", facts.server.timeline},
           {"in_flight", tracker_.records_in_flight()}});
  if (decision.timeline_switched) {
    LogWarning("timeline_switched",
               "another server was promoted; with asynchronous replication, Kafka may contain "
               "events of transactions that the new primary does not have",
               {{"timeline", facts.server.timeline},
                {"fork", decision.fork},
                {"confirmed", decision.position}});
  }
  if (decision.taken_over) {
    LogInfo("taken_over", "resuming after another instance published from this slot",
            {{"confirmed", decision.position}});
  }
}

// The slot is in use: by another instance, in which case this one stands by, or by an earlier
// connection of this relay that broke and that the server has not noticed yet, in which case its
// backend is terminated.
absl::Status Relay::TakeSlot(const SlotFacts& slot) {
  if (slot.active_pid != own_backend_pid_) {
    return Error(ErrorCode::kSlotBusy, fmt::format("held by server process {}", slot.active_pid));
  }
  WR_RETURN_IF_ERROR(parts_.source.TerminateBackend(own_backend_pid_));
  return Error(ErrorCode::kConnectionLost,
               "the previous connection still held the slot; terminated its backend");
}

// Whether another process reads the slot and is responsible for gaps meanwhile.
bool Relay::IsOthers(const SlotFacts& slot) const {
  return slot.active && slot.active_pid != own_backend_pid_;
}

void Relay::NoteHolder(const SlotFacts& slot) {
  if (memory_ && IsOthers(slot)) {
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
    // Asked to stop while connecting; the loop handles the stop request.
    parts_.source.Close();
    retry_at_ = now + kAfterCancelling;
    return;
  }
  if (EndsProcess(error)) {
    Finish(error);
    return;
  }
  started_ = started_ || opened_;
  switch (ReactionTo(error)) {
    case Reaction::kGap:
      OnGap(error, now);
      return;
    case Reaction::kStandby:
      if (phase_ != Phase::kWaitingForSlot) {
        LogInfo("standby", "the slot is in use; standing by", {{"reason", MessageOf(error)}});
      }
      phase_ = Phase::kWaitingForSlot;
      last_error_ = error;
      retry_at_ = now + kLookAtSlot;
      return;
    case Reaction::kConfiguration:
    case Reaction::kUsage:
    case Reaction::kDefinite:
    case Reaction::kRetry:
    case Reaction::kBlocked:
      break;
  }
  Disconnect(error, now);
}

// A permanent error ends the process, so that it is reported at once, but only at the first start.
// A running relay, or a standby, may encounter secrets that are being rewritten or logins that are
// being rotated.
bool Relay::EndsProcess(const absl::Status& error) const {
  switch (ReactionTo(error)) {
    case Reaction::kConfiguration:
    case Reaction::kUsage:
    case Reaction::kDefinite:
      return !started_;
    case Reaction::kRetry:
    case Reaction::kStandby:
    case Reaction::kBlocked:
      return false;
    case Reaction::kGap:
      return parts_.config.source.on_gap == OnGap::kExit;
  }
  return false;
}

void Relay::OnSessionError(const absl::Status& error, MonoTime now) {
  NoteProgress();
  const absl::Status cause = CountRepeats(error);
  if (ReactionTo(cause) == Reaction::kBlocked) {
    standing_ = cause;
  }
  if (ReactionTo(cause) == Reaction::kGap) {
    EndSession();
    if (EndsProcess(cause)) {
      Finish(cause);
    } else {
      OnGap(cause, now);
    }
    return;
  }
  Disconnect(cause, now);
}

// An error that occurs three times at the same position will occur again: report WR-2402, because
// an operator must act. A broken connection counts only if there was WAL to read: an idle stream
// stays at its position.
absl::Status Relay::CountRepeats(const absl::Status& error) {
  const bool told =
      HasCode(error, ErrorCode::kProtocolViolation) || HasCode(error, ErrorCode::kPostgresError);
  const bool counts = !HasCode(error, ErrorCode::kPostgresShuttingDown) &&
                      (told || wal_end_at_start_ > tracker_.resume());
  const bool same = repeats_ > 0 && tracker_.resume() == repeated_at_;
  if (same && HasCode(error, ErrorCode::kServerSilent) && repeated_code_ == CodeOf(error)) {
    AllowMoreTime();
  }
  repeats_ = counts ? (same ? repeats_ + 1 : 1) : 0;
  repeated_code_ = CodeOf(error);
  repeated_at_ = tracker_.resume();
  if (repeats_ < kRepeatsUntilStuck) {
    return error;
  }
  return Error(ErrorCode::kStreamStuck, fmt::format("{} times at {}: {}", repeats_,
                                                    repeated_at_.ToString(), MessageOf(error)));
}

// A server that decodes a huge transaction of other tables sends nothing meanwhile; with the same
// timeout the relay would disconnect at the same position each time.
void Relay::AllowMoreTime() {
  const Micros present = std::max(
      sender_timeout_, std::max<Micros>(parts_.config.source.wal_sender_timeout, session_timeout_));
  sender_timeout_ = std::min(2 * present, std::max(present, kLongestSenderTimeout));
  LogWarning("sender_timeout",
             "the server was silent at the same position as before; increasing wal_sender_timeout",
             {{"wal_sender_timeout_ms", sender_timeout_.count() / 1000}});
}

void Relay::Disconnect(const absl::Status& error, MonoTime now) {
  const bool stuck = HasCode(error, ErrorCode::kStreamStuck);
  const Micros wait = stuck ? stuck_backoff_.Next() : reconnect_backoff_.Next();
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
  if (phase_ != Phase::kDisconnected && !draining_) {
    StepAside(Error(ErrorCode::kPostgresShuttingDown, "closing the stream"), kBusyPatience);
  }
}

// The next connection decides whether to drop the slot, from the state that it finds.
void Relay::OnRetainedLimit() {
  if (phase_ == Phase::kStreaming && !draining_) {
    StepAside(Error(ErrorCode::kSlotAtRisk,
                    "the slot has reached source.max_retained_wal; reconnecting to drop it"),
              kGivingUpPatience);
  }
}

// A walsender that cannot send does not exit either, and the checkpoint that waits for it blocks
// the whole server. While the stream is read, its final message gets through.
void Relay::OnSlotAlmostLost() {
  if (phase_ == Phase::kStreaming && session_->held_since() && !draining_) {
    StepAside(Error(ErrorCode::kSlotAtRisk,
                    "the slot exceeds max_slot_wal_keep_size; closing the stream, because the next "
                    "checkpoint would wait for a walsender that cannot send"),
              kBusyPatience);
    aside_ = Aside{acknowledged_, producer_->Reachable()};
    retry_at_ = parts_.clock.Now() + kAsidePatience;
  }
}

// Whether to reconnect before the pause is over: Kafka has become reachable, or has acknowledged a
// record.
bool Relay::KafkaTakesAgain() const {
  if (!aside_ || producer_ == nullptr) {
    return false;
  }
  const bool answers = !aside_->kafka_reachable && producer_->Reachable();
  return answers || acknowledged_ > aside_->acknowledged;
}

// Closes the stream gracefully, so that acknowledged events are confirmed. Best effort: the server
// may be too busy to read the status update.
void Relay::StepAside(const absl::Status& reason, Micros patience) {
  if (session_ != nullptr) {
    (void)session_->Finish(patience);
  }
  Disconnect(reason, parts_.clock.Now());
}

}  // namespace walrelay
