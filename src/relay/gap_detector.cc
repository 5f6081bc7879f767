#include "relay/gap_detector.h"

#include <algorithm>

#include "base/check.h"
#include "base/log.h"
#include "stream/progress_record.h"
#include "walrelay/config/source.h"
#include "walrelay/error.h"

namespace walrelay {
namespace {

// Whether the remembered positions belong to another WAL.
// Only another WAL makes the positions themselves incomparable; the other gaps are distances on the
// same WAL.
bool IsOfServer(const Gap& gap) {
  return HasCode(gap.error, ErrorCode::kSystemChanged) ||
         HasCode(gap.error, ErrorCode::kServerBehind) ||
         HasCode(gap.error, ErrorCode::kHistoryRewritten) ||
         HasCode(gap.error, ErrorCode::kProgressForeign) ||
         HasCode(gap.error, ErrorCode::kTimelineChanged);
}

}  // namespace

GapDetector::GapDetector(const SourceConfig& source, const Clock& clock, AckTracker& tracker)
    : source_(source), clock_(clock), tracker_(tracker), publication_(source.publication) {}

void GapDetector::Restore(const SourceMemory& memory) {
  WR_CHECK(!last_stream_ && !held_ && !found_, "the memory precedes the first check");
  last_stream_ = memory.last_stream;
  publication_.Restore(memory.publication);
  dropping_ = memory.dropping;
  held_ = memory.held;
  generation_ = memory.generation;
  replaced_ = memory.replaced;
  accepted_gap_ = memory.accepted_gap;
  cluster_.OnRecord(memory.cluster_id);
  if (IsOwn()) {
    tracker_.Restart(last_stream_->frontier, last_stream_->last_published,
                     last_stream_->latest_commit);
    SaveResumeState();
  }
}

bool GapDetector::IsOwn() const {
  return last_stream_ && last_stream_->stream() != nullptr;
}

// An instance that was not seen may have ended before it could move the slot. Then its events are
// repeated, which every mode allows that does not read the record each time.
bool GapDetector::IsWhereLeft(const SourceInfo& info) const {
  return IsOwn() && !last_stream_->slot_was_taken && info.slot &&
         info.server.system_id == last_stream_->system_id &&
         info.server.timeline == last_stream_->timeline &&
         info.slot->confirmed_flush_lsn <= last_stream_->frontier;
}

// A memory that says as much as the record is preferred: it also has the records in flight, and
// those that were refused. The two are compared as far as they are of the same WAL, by their last
// events as well as by their frontiers: a stream
// of a server that was restored passes by positions of events that only the record knows.
bool GapDetector::Knows(const Progress& record) const {
  if (!IsOwn() || last_stream_->system_id != record.system_id || record.generation > generation_ ||
      record.timeline > last_stream_->timeline) {
    return false;
  }
  const ResumeState& own = *last_stream_;
  const Lsn common = CommonWalEnd(ResumeStateOf(record),
                                  ServerInfo{.timeline = own.timeline, .ancestors = own.ancestors});
  const auto behind = [](const PublishedTransaction& last, const Position& rows) {
    return std::max(Position{last.behind(), Lsn(), 0}, rows);
  };
  const Position rows = record.partial.valid() ? record.partial.last_row().Next() : Position();
  return std::min(record.frontier, common) <= own.frontier &&
         std::min(behind(record.last, rows), Position{common, Lsn(), 0}) <=
             behind(own.stream()->last_handled, own.stream()->unfinished.next);
}

// The record of another instance is newer than what this process knew, and its frontier is never
// behind the slot: with it, a slot that was moved is noticed even after a takeover. The tracker is
// not touched: records may still be in flight, and the stream decides about them. A record precedes
// what was accepted here, unless its writer has recorded more than was known at the acceptance: the
// same gap may have been accepted there, too, without a record so far.
void GapDetector::Recall(const Progress& record, const absl::Status& owner,
                         const std::string& cluster) {
  WR_CHECK(!tracker_.in_transaction(), "positions change only between streams");
  const bool precedes = last_stream_ && Replaces(record);
  const bool known = owner.ok() && Knows(record);
  // An operator has accepted the gap on another instance, or by a command. The generations of
  // records in different clusters are not comparable.
  const bool same_cluster = std::exchange(read_from_, cluster) == cluster;
  if (held_ && same_cluster && record.generation > generation_) {
    LogWarning("gap_released", "the record says that the gap was accepted", {{"gap", held_->id}});
    cluster_.OnAcceptedElsewhere(record.cluster_id);
    Release(last_stream_ && last_stream_->system_id != record.system_id);
  }
  read_ = record;
  generation_ = std::max(generation_, record.generation);
  if (owner.ok() && !held_) {
    held_ = RecordedGap();
  }
  if (precedes && !last_stream_->awaits_slot()) {
    last_stream_->slot_was_taken = false;  // its reader has recorded nothing, and confirmed nothing
  }
  if (precedes) {
    return;
  }
  foreign_ = owner;
  if (!owner.ok() || (IsOwn() && held_ && !accepted_)) {
    return;  // the positions of a gap that is held stay, and with them its id
  }
  if (known) {
    last_stream_->slot_was_taken = false;
    return;
  }
  last_stream_ = ResumeStateOf(record);
  // An operator has accepted what changed since the record of an earlier generation.
  const auto seen = PublicationOf(record, source_.publication);
  if (seen && record.generation == generation_) {
    publication_.Recall(*seen);
  }
  cluster_.OnRecord(record.cluster_id);
}

void GapDetector::OnRecorded(const Progress& record) {
  if (last_stream_ && last_stream_->system_id == record.system_id &&
      last_stream_->timeline == record.timeline && record.generation == generation_) {
    last_stream_->horizons = record.horizons;
    last_stream_->partial = record.partial;
  }
}

SourceMemory GapDetector::memory() const {
  WR_CHECK(!tracker_.in_transaction(), "positions are saved between transactions");
  return {.last_stream = last_stream_,
          .publication = publication_.memory(),
          .dropping = dropping_,
          .held = held_,
          .generation = generation_,
          .replaced = replaced_,
          .accepted_gap = accepted_gap_,
          .cluster_id = cluster_.id()};
}

// An acceptance applies only to the gap that it names, therefore to a check that finds this gap or
// none.
absl::Status GapDetector::Check(const SourceInfo& info, bool others_slot, bool may_accept) {
  WR_CHECK(!accepted_ || held_, "only a gap that is held is accepted");
  if (info.server.in_recovery) {
    return absl::OkStatus();  // it may lag: it is neither checked nor streamed from
  }
  if (!publication_.state()) {
    RememberPublication(info);  // no stream may start for long: a gap may be held
  }
  if (last_stream_) {
    // On another timeline, or on a restored server, the old positions are not comparable.
    publication_.SeenBefore(
        std::min(CommonWalEnd(*last_stream_, info.server), info.publication_state.before));
  }
  // While another process reads the slot, it checks the publication; what changes meanwhile is not
  // this relay's gap.
  absl::Status status = publication_.OnCompared(
      FindGap(last_stream_, others_slot ? std::nullopt : publication_.state(), info),
      /*compared=*/!others_slot);
  if (status.ok() && held_ && HasCode(held_->error, ErrorCode::kPublicationChanged)) {
    // The record has the gap, and nothing shows when the rows were visible again.
    held_->to = std::max(held_->to, info.publication_state.after);
  }
  // The drop was ours, so the missing slot is not an unexplained loss (WR-2101) but the limit that
  // the operator set.
  if (!info.slot && !dropping_.ok()) {
    status = dropping_;
  }
  // Another gap that is held is decided first: the record of the other cluster does not have it.
  const bool other_held = held_ && !HasCode(held_->error, ErrorCode::kClusterChanged);
  if (!cluster_.changed().ok() && !other_held) {
    status = cluster_.changed();
  }
  // Nothing can be compared with positions of another pipeline.
  if (!foreign_.ok()) {
    status = foreign_;
  }
  found_.reset();
  if (!status.ok()) {
    found_ = MakeGap(status, frontier(), publication_.state(), &info);
    publication_.EndDispute();
  }
  // A gap of the server takes precedence: nothing else can be compared with positions of another
  // WAL.
  const bool hidden = held_ && IsOfServer(*held_) && !(found_ && IsOfServer(*found_));
  const bool other = found_ && held_ && found_->id != held_->id && !hidden;
  if (found_ && held_ && found_->id == held_->id) {
    held_->to = std::max(held_->to, found_->to);  // an acceptance covers what is missing by now
  }
  CheckAcceptance(info);
  if (held_ && !other && accepted_ && may_accept) {
    ApplyAcceptance(info);
    return Check(info, others_slot);  // another gap may have been hidden by it
  }
  WR_CHECK(!accepted_ || other || !may_accept,
           "an acceptance waits only while another gap is found, or for the record");
  return held_ && (status.ok() || hidden) ? held_->error : status;
}

// While rows are being hidden, the end of the gap is unknown: the cause must be fixed first.
// It also counts the checks, so that `walrelay resume` can wait for one that began after its
// request.
void GapDetector::CheckAcceptance(const SourceInfo& info) {
  error_ = absl::OkStatus();
  checks_ = held_ ? checks_ + 1 : 0;
  const auto problems = PublicationProblems(info, source_.publication);
  if (held_ && !problems.empty()) {
    error_ = problems.front();
    accepted_ = false;
  }
  WR_CHECK(error_.ok() || !accepted_, "no gap is accepted while rows are being hidden");
}

void GapDetector::ApplyAcceptance(const SourceInfo& info) {
  WR_CHECK(held_ && accepted_, "an operator has accepted the gap that is held");
  WR_CHECK(!tracker_.in_transaction(), "positions change only between sessions");
  WR_CHECK(tracker_.records_in_flight() == 0, "nothing is published while a gap is held");
  LogWarning("gap_accepted", "an operator accepted the gap",
             {{"gap", held_->id},
              {"code", ToString(CodeOf(held_->error))},
              {"from", held_->from},
              {"to", held_->to}});
  // Another instance may have found another one.
  std::optional<Gap> recorded = RecordedGap();
  if (recorded && recorded->id == held_->id) {
    accepted_gap_ = read_->held;
    recorded.reset();
  }
  const bool another_system = last_stream_ && last_stream_->system_id != info.server.system_id;
  ++generation_;  // what is recorded from now on outranks each record with the gap
  if (!HasCode(held_->error, ErrorCode::kPublicationChanged)) {
    // Without a usable slot there is no position yet: the tracker restarts with the stream.
    BeginAt(AcceptedResumeState(info));
  }
  // Rows hidden before the accepted position are covered by the acceptance; later ones are compared
  // as before.
  publication_.SeenBefore(info.slot ? info.slot->confirmed_flush_lsn : info.server.wal_end);
  dropping_ = absl::OkStatus();
  foreign_ = absl::OkStatus();
  Release(another_system);
  held_ = std::move(recorded);
}

// The gap that is held according to the record, unless it was accepted here.
std::optional<Gap> GapDetector::RecordedGap() const {
  const bool accepted = read_ && read_->held == accepted_gap_;
  return read_ && read_->held && !accepted ? std::optional(GapOf(*read_->held)) : std::nullopt;
}

bool GapDetector::Replaces(const Progress& record) const {
  return replaced_ && record.Order() <= replaced_->Order();
}

// Discards the state that the acceptance of the held gap covers: the rest is checked again.
void GapDetector::Release(bool another_system) {
  WR_CHECK(held_.has_value(), "a gap that is held is released");
  if (HasCode(held_->error, ErrorCode::kPublicationChanged) || another_system) {
    publication_.Accept();
  }
  if (HasCode(held_->error, ErrorCode::kClusterChanged)) {
    cluster_.Accept();
  }
  held_.reset();
  found_.reset();
  accepted_ = false;
  applied_ = true;
}

// The records of now say nothing of the positions behind it.
void GapDetector::BeginAt(const ResumeState& state) {
  last_stream_ = state;
  replaced_ = read_;
  if (!state.awaits_slot()) {
    tracker_.Restart(state.frontier, {}, state.latest_commit);
  }
}

void GapDetector::ContinueAt(Lsn position, const SourceInfo& info) {
  WR_CHECK(!held_ && !accepted_, "a gap is decided first");
  WR_CHECK(tracker_.records_in_flight() == 0, "everything before the position is acknowledged");
  ResumeState state = AcceptedResumeState(info);
  state.frontier = position;
  state.source = LeftByStream{.resume = position, .last_handled = {}, .unfinished = {}};
  ++generation_;
  BeginAt(state);
}

void GapDetector::OnStreamStarted(const SourceInfo& info, const StartDecision& decision) {
  WR_CHECK(!held_, "no stream starts while a gap is held");
  WR_CHECK(!found_ && !accepted_, "no stream starts after a check that found a gap");
  RememberPublication(info);
  const bool continues = decision.keep_in_flight && IsOwn();
  const Lsn frontier = continues ? last_stream_->frontier : decision.published_before;
  last_stream_ = ResumeState{.system_id = info.server.system_id,
                             .timeline = info.server.timeline,
                             .ancestors = info.server.ancestors,
                             .frontier = frontier,
                             .last_published = decision.last_published,
                             .partial = decision.partial,
                             .settled_before = decision.recorded_settled,
                             .latest_commit = decision.latest_commit};
  SaveResumeState();
  dropping_ = absl::OkStatus();
}

// A stream that ended early has not come back to the frontier that was recorded before it.
void GapDetector::SaveResumeState(const UnfinishedTransaction& unfinished) {
  WR_CHECK(!tracker_.in_transaction(), "positions are saved between transactions");
  if (IsOwn()) {
    last_stream_->frontier = frontier();
    last_stream_->last_published = tracker_.last_published();
    last_stream_->latest_commit = tracker_.latest_commit();
    last_stream_->source = LeftByStream{.resume = std::max(tracker_.resume(), frontier()),
                                        .last_handled = tracker_.last_handled(),
                                        .unfinished = unfinished};
  }
}

Lsn GapDetector::frontier() const {
  const Lsn known = last_stream_ ? last_stream_->frontier : Lsn();
  return last_stream_ && last_stream_->record() != nullptr ? known
                                                           : std::max(known, tracker_.frontier());
}

void GapDetector::OnDropping(const absl::Status& error) {
  WR_CHECK(!error.ok(), "a slot is dropped for a reason");
  WR_CHECK(ReactionTo(error) == Reaction::kGap, "a dropped slot is a gap");
  dropping_ = error;
  accepted_ = false;  // an acceptance that waits does not include what this slot retains
}

// From now on a confirmed position beyond the frontier is that process' progress, and not a slot
// that was moved.
void GapDetector::OnSlotTaken() {
  if (last_stream_) {
    last_stream_->slot_was_taken = true;
  }
}

void GapDetector::OnDropped(const SourceInfo& info) {
  WR_CHECK(!dropping_.ok(), "the reason for the drop is known");
  found_ = MakeGap(dropping_, frontier(), publication_.state(), &info);
}

// The gap is identified by its findings, so the last check's is preferred to one that is only
// derived from the error: its id must stay the same over all checks, because an operator types it.
void GapDetector::Hold(const absl::Status& error) {
  WR_CHECK(ReactionTo(error) == Reaction::kGap, "the error's reaction is kGap");
  const auto is = [&](const std::optional<Gap>& gap) {
    return gap && HasCode(gap->error, CodeOf(error));
  };
  Gap gap = is(found_)  ? *found_
            : is(held_) ? *held_
                        : MakeGap(error, frontier(), publication_.state(), nullptr);
  const bool same = held_ && held_->id == gap.id;
  if (same && !gap.from.valid()) {
    gap.from = held_->from;  // an earlier check knew it, when the slot still existed
  }
  accepted_ = accepted_ && same;
  held_ = gap;
  WR_CHECK(held_ && HasCode(held_->error, CodeOf(error)), "the gap of the error is held");
}

// The id may be outdated: between the operator's reading and the answer the gap may have changed,
// and then nothing is accepted.
bool GapDetector::Accept(std::string_view id) {
  accepted_ = accepted_ || (held_ && held_->id == id);
  WR_CHECK(!accepted_ || held_, "only a gap that is held is accepted");
  return held_ && held_->id == id;
}

}  // namespace walrelay
