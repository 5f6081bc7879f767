// The relay's behaviour when events may be missing: it reports the gap, publishes and confirms
// nothing, checks the source periodically, and continues when an operator has accepted the gap.

#include <algorithm>

#include "base/log.h"
#include "relay/relay.h"
#include "stream/publication_change.h"
#include "walrelay/error.h"

namespace walrelay {
namespace {

using std::chrono::seconds;

constexpr Micros kBetweenLooks = seconds(10);

// Whether the remembered positions belong to another WAL.
bool IsOfServer(const Gap& gap) {
  return HasCode(gap.error, ErrorCode::kSystemChanged) ||
         HasCode(gap.error, ErrorCode::kServerBehind) ||
         HasCode(gap.error, ErrorCode::kTimelineChanged);
}

}  // namespace

// Compares each reading of the source with the remembered state. A gap that was found is held even
// if a later check finds nothing: the WAL of a restored server grows past what it had sent, and a
// recreated slot may reach the expected position. An acceptance applies only to the gap that it
// names, therefore to a check that finds this gap or none.
absl::Status Relay::JudgeGap(const SourceFacts& facts) {
  if (facts.server.in_recovery) {
    return absl::OkStatus();  // it may lag: it is neither checked nor streamed from
  }
  if (publication_ && memory_) {
    // On another timeline, or on a restored server, the old positions are not comparable.
    publication_->before = std::min({publication_->before, CommonWalEnd(*memory_, facts.server),
                                     facts.publication_look.before});
  }
  const bool others = facts.slot && IsOthers(*facts.slot);
  absl::Status status = FindGap(memory_, others ? std::nullopt : publication_, facts);
  if (!facts.slot && !dropping_.ok()) {
    status = dropping_;
  }
  found_.reset();
  if (!status.ok()) {
    found_ = MakeGap(status, tracker_.frontier(), publication_, &facts);
    // The other connection's observation was right, or no longer matters.
    disputed_ = PublicationIdentity();
  }
  // A gap of the server takes precedence: nothing else can be compared with positions of another
  // WAL.
  const bool hidden = gap_ && IsOfServer(*gap_) && !(found_ && IsOfServer(*found_));
  const bool other = found_ && gap_ && found_->id != gap_->id && !hidden;
  CheckAcceptance(facts);
  if (gap_ && !other && gap_accepted_) {
    ApplyAcceptance(facts);
    return JudgeGap(facts);  // another gap may have been hidden by it
  }
  return gap_ && (status.ok() || hidden) ? gap_->error : status;
}

// While rows are being hidden, the end of the gap is unknown: the cause must be fixed first.
void Relay::CheckAcceptance(const SourceFacts& facts) {
  gap_obstacle_ = absl::OkStatus();
  gap_looks_ = gap_ ? gap_looks_ + 1 : 0;
  const auto problems = PublicationProblems(facts, parts_.config.source.publication);
  if (gap_ && !problems.empty()) {
    gap_obstacle_ = problems.front();
    gap_accepted_ = false;
  }
}

void Relay::ApplyAcceptance(const SourceFacts& facts) {
  LogWarning("gap_accepted", "an operator accepted the gap",
             {{"gap", gap_->id},
              {"code", ToString(CodeOf(gap_->error))},
              {"from", gap_->from},
              {"to", gap_->to}});
  // Discard the state covered by the acceptance, and check the rest again.
  const bool another_system = memory_ && memory_->system_id != facts.server.system_id;
  if (HasCode(gap_->error, ErrorCode::kPublicationChanged) || another_system) {
    publication_.reset();
    RememberPublication(facts);
  } else if (publication_) {
    publication_->before = std::min(
        publication_->before, facts.slot ? facts.slot->confirmed_flush : facts.server.wal_end);
  }
  if (!HasCode(gap_->error, ErrorCode::kPublicationChanged)) {
    memory_ = AcceptedMemory(facts);
    if (!memory_->awaits_slot) {
      tracker_.Restart(memory_->frontier);
      noted_frontier_ = memory_->frontier;
    }
  }
  dropping_ = absl::OkStatus();
  standing_ = absl::OkStatus();
  repeats_ = 0;
  gap_.reset();
  found_.reset();
  gap_accepted_ = false;
}

void Relay::OnGap(const absl::Status& error, MonoTime now) {
  const auto is = [&](const std::optional<Gap>& gap) {
    return gap && HasCode(gap->error, CodeOf(error));
  };
  Gap gap = is(found_) ? *found_
            : is(gap_) ? *gap_
                       : MakeGap(error, tracker_.frontier(), publication_, nullptr);
  if (gap_ && gap_->id == gap.id && !gap.from.valid()) {
    gap.from = gap_->from;  // an earlier check knew it, when the slot still existed
  }
  if (!gap_ || gap_->id != gap.id) {
    LogStatus(LogLevel::kError, "gap", gap.error,
              {{"gap", gap.id},
               {"from", gap.from},
               {"to", gap.to},
               {"in_flight", tracker_.records_in_flight()}});
    parts_.board.NoteError(gap.error, parts_.clock.WallNow());
    gap_accepted_ = false;
  }
  const bool first = !gap_;
  gap_ = gap;
  if (phase_ == Phase::kStreaming) {
    disconnected_since_ = now;
  }
  DestroyProducer();
  EndSession();
  tracker_.Reset();
  pipeline_.ForgetPositions();
  Remember();
  parts_.source.Close();
  phase_ = Phase::kDisconnected;
  last_error_ = gap_->error;
  retry_at_ = now + (first ? reconnect_backoff_.Next() : kBetweenLooks);
}

void Relay::AcceptGap(std::string_view id) {
  if (!gap_ || gap_->id != id) {
    return;
  }
  gap_accepted_ = true;
  if (phase_ == Phase::kDisconnected) {
    retry_at_ = parts_.clock.Now();
  }
}

// Remembers the first valid reading. Problems are reported elsewhere, and are not a state to
// compare with.
void Relay::RememberPublication(const SourceFacts& facts) {
  if (PublicationProblems(facts, parts_.config.source.publication).empty()) {
    publication_ = facts.publication_look;
    publication_seen_at_ = parts_.clock.Now();
  }
}

// A reading from another connection is not conclusive, because it may have reached another server.
// From then on nothing is confirmed, until the relay's own next connection has checked the
// publication.
void Relay::OnPublicationSeen(const PublicationLook& look, MonoTime begun) {
  if (!publication_ || gap_ || begun < publication_seen_at_) {
    return;
  }
  const bool others_slot = phase_ == Phase::kWaitingForSlot;
  if (others_slot || HidingChange(publication_->identity, look.identity).empty()) {
    if (look.identity.oid != 0) {
      publication_ = look;
    }
    return;
  }
  if (phase_ != Phase::kStreaming || look.identity == disputed_ || draining_) {
    return;
  }
  disputed_ = look.identity;
  const MonoTime now = parts_.clock.Now();
  Disconnect(Error(ErrorCode::kPublicationChanged,
                   "reconnecting to check it again before confirming anything"),
             now);
  retry_at_ = now;
}

}  // namespace walrelay
