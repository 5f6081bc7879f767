#include "relay/slot_connector.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/check.h"
#include "base/log.h"
#include "base/text.h"
#include "slot/wal_retention_limit.h"
#include "stream/progress_record.h"
#include "walrelay/config/pipeline.h"
#include "walrelay/config/source.h"

namespace walrelay {
namespace {

// Twice may be a coincidence of two outages; each failure makes the server decode the same WAL
// again.
constexpr int kFailuresUntilStuck = 3;
// While a server decodes for a long time it sends nothing. The price of a longer timeout: a dead
// server is noticed later.
constexpr Micros kLongestSenderTimeout = std::chrono::minutes(10);

// SQL_ASCII: psql shows the bytes as they are, also those that have no UTF-8.
std::string StuckRemedy(const SourceConfig& source, uint32_t xid, const absl::Status& cause) {
  const std::string table =
      source.tables.empty()
          ? "your_table"
          : fmt::format("{}.{}", source.tables.front().schema, source.tables.front().name);
  return fmt::format(
      "{} walrelay retries every two minutes. PGCLIENTENCODING=SQL_ASCII "
      "psql "
      "-c \"SELECT * FROM {} WHERE xmin::text = '{}'\" shows the rows of this transaction that the "
      "table still holds. To continue without the rest of this transaction, and of no other: "
      "walrelay resume, then walrelay resume --accept-gap (docs/runbooks/blocked.md).",
      HasCode(cause, ErrorCode::kRowExceedsMemory) ? RemedyFor(cause)
                                                   : "Fix the cause named above.",
      table, xid);
}

}  // namespace

void SlotConnector::Restore(const SourceMemory& memory) {
  WR_CHECK(!opened_, "the memory precedes the first connection");
  slot_seen_ = memory.slot_seen;
  slot_created_ = memory.slot_created;
  record_seen_ = memory.record_seen;
  own_backend_pid_ = memory.backend_pid;
  own_backend_started_ = memory.backend_started;
}

void SlotConnector::AddTo(SourceMemory& memory) const {
  memory.slot_seen = slot_seen_;
  memory.slot_created = slot_created_;
  memory.record_seen = record_seen_ || parts_.recorder.recorded();
  memory.backend_pid = own_backend_pid_;
  memory.backend_started = own_backend_started_;
}

// A slot in use is an error here, and what the error means depends on the user of the slot: see
// FreeSlot().
absl::StatusOr<SourceInfo> SlotConnector::Open() {
  WR_ASSIGN_OR_RETURN(const SourceInfo info, OpenSource());
  if (info.slot && info.slot->active) {
    if (IsOthers(*info.slot)) {
      parts_.gaps.RememberPublication(info);
    }
    return FreeSlot(*info.slot);
  }
  return info;
}

// The timeout is a setting of the session, so it is given before the connection is made.
absl::StatusOr<SourceInfo> SlotConnector::OpenServer() {
  parts_.source.SetSenderTimeout(sender_timeout_);
  WR_ASSIGN_OR_RETURN(SourceInfo info, parts_.source.Open());
  opened_ = true;
  if (!info.server.in_recovery) {
    WR_RETURN_IF_ERROR(CheckNewest(info.server.system_id, info.server.timeline));
  }
  slot_seen_ = slot_seen_ || info.slot.has_value();
  if (info.slot) {
    RecordSlotOwner(*info.slot);
  }
  return info;
}

// Each pass uses a new server process, which the stream needs after a query, and checks everything
// again: the server and the publication may have changed since the last pass.
absl::StatusOr<SourceInfo> SlotConnector::OpenSource() {
  while (true) {
    WR_ASSIGN_OR_RETURN(const SourceInfo info, OpenServer());
    const bool others_slot = info.slot && IsOthers(*info.slot);
    const absl::Status recalled =
        others_slot && !parts_.gaps.held() ? absl::OkStatus() : RecallProgress(info);
    if (parts_.recorder.recorded()) {
      parts_.gaps.OnRecorded(*parts_.recorder.recorded());
    }
    if (others_slot) {
      parts_.gaps.OnSlotTaken();  // it may record more than was read
    }
    const absl::Status gap = parts_.gaps.Check(info, others_slot, /*may_accept=*/recalled.ok());
    // Before any check that could delay us here while the disk fills.
    if (info.slot && MustDropSlot(parts_.source_config, info.server, *info.slot)) {
      if (!gap.ok() && !DecideStart(parts_.gaps.last_stream(), info).ok()) {
        WR_RETURN_IF_ERROR(recalled);
        return gap;  // we must not drop this slot; the gap explains why
      }
      WR_RETURN_IF_ERROR(DropSlotAtLimit(info));
      continue;  // the slot was kept after all
    }
    WR_RETURN_IF_ERROR(recalled);
    WR_RETURN_IF_ERROR(gap);
    const auto problems = PublicationProblems(info, parts_.source_config.publication);
    if (!problems.empty()) {
      return problems.front();
    }
    if (info.slot || info.recovery_pid != 0 || !MayCreateSlot()) {
      return info;
    }
    WR_RETURN_IF_ERROR(parts_.source.CreateSlot());
    slot_seen_ = true;  // if it disappears before it is read, rows are lost with it
    slot_created_ = true;
    LogInfo("slot_created",
            "created the replication slot; rows committed from now on are published");
  }
}

// A standby server is not read from, so that nothing has to be known about it. While a gap is held,
// the record shows whether it was accepted on another instance.
absl::Status SlotConnector::RecallProgress(const SourceInfo& info) {
  const ProgressRecorder& recorder = parts_.recorder;
  const bool needed = parts_.pipeline_config.exactly_once() || recorder.outdated() ||
                      parts_.gaps.held() || !parts_.gaps.IsWhereLeft(info);
  if (!recorder.enabled() || !needed || info.server.in_recovery) {
    return absl::OkStatus();
  }
  WR_RETURN_IF_ERROR(ReadRecord(info));
  const bool ahead =
      HasCode(DecideStart(parts_.gaps.last_stream(), info).status(), ErrorCode::kSlotMoved);
  const bool may_explain = ahead && !parts_.gaps.held();
  if (!recorder.enabled() || !(may_explain || parts_.gaps.accepted())) {
    return absl::OkStatus();
  }
  // With transactions, the slot is confirmed when the coordinator has decided a commit: the
  // markers, without which the record cannot be read, follow. The record is read only after the
  // transactions have ended: a version that was read before may not be the newest, and an
  // acceptance replaces the newest one.
  WR_ASSIGN_OR_RETURN(const bool settled, parts_.recorder.IsSettled());
  return settled ? ReadRecord(info)
                 : Error(ErrorCode::kTransactionUnended,
                         fmt::format("topic {} has an open transaction", recorder.topic()));
}

absl::Status SlotConnector::ReadRecord(const SourceInfo& info) {
  ProgressRecorder& recorder = parts_.recorder;
  const bool exact = parts_.pipeline_config.exactly_once();
  record_seen_ = record_seen_ || recorder.recorded();  // reading replaces it
  WR_ASSIGN_OR_RETURN(auto record, recorder.Read(info.server));
  const bool unexplained =
      info.slot && !slot_created_ && !parts_.gaps.last_stream() && !parts_.gaps.held();
  if (!record && unexplained && recorder.enabled()) {
    record = recorder.FindOfSlot(info.server);
  }
  if (record) {
    WR_RETURN_IF_ERROR(CheckUnused(*record, info.server, recorder.run_id()));
    parts_.gaps.Recall(
        *record, CheckOwner(*record, parts_.source_config, parts_.pipeline_config, info.server),
        recorder.cluster_id());
    (void)parts_.gaps.OnCluster(recorder.cluster_id());  // Check() returns the gap
    return absl::OkStatus();
  }
  // Without a record, only a new slot shows that nothing was published before.
  const bool required = parts_.pipeline_config.requires_record();
  const bool known = (slot_created_ || parts_.gaps.last_stream() || parts_.gaps.held()) &&
                     !(exact && record_seen_);
  if (required && info.slot && !known) {
    return Error(ErrorCode::kProgressMissing,
                 fmt::format("slot {} is confirmed up to {}", parts_.source_config.slot,
                             info.slot->confirmed_flush_lsn.ToString()));
  }
  (void)parts_.gaps.OnCluster(recorder.cluster_id());
  return absl::OkStatus();
}

// A slot that existed before was removed for a reason, and rows were lost with it.
// See FindGap(): a relay that has seen the slot treats its absence as a loss.
bool SlotConnector::MayCreateSlot() const {
  const bool known = slot_seen_ || parts_.gaps.last_stream();
  return parts_.source_config.create_slot && !known;
}

// Drops the slot because it retains more WAL on the primary's disk than the operator allows. OK: it
// no longer exceeds the limit.
absl::Status SlotConnector::DropSlotAtLimit(const SourceInfo& info) {
  WR_CHECK(info.slot.has_value(), "only a slot that exists is dropped");
  // A slot that we could not read is not ours to drop.
  WR_RETURN_IF_ERROR(DecideStart(parts_.gaps.last_stream(), info).status());
  // The reading may be old by now: connecting and checking take time, and the limit may have been
  // passed by a burst that is confirmed meanwhile.
  WR_ASSIGN_OR_RETURN(const auto slot, parts_.source.InspectSlot());
  if (!slot || !MustDropSlot(parts_.source_config, info.server, *slot)) {
    return absl::OkStatus();
  }
  WR_CHECK(!slot->active && !slot->temporary && !slot->lost(),
           "only an unused slot that retains WAL is dropped");
  const absl::Status dropped =
      SlotDropped(parts_.source_config, info.server, *slot, parts_.state.oldest_unpublished);
  // Kept in case the reply is lost: then the next connection finds the slot missing.
  parts_.gaps.OnDropping(dropped);
  LogWarning("dropping_slot", "dropping the slot: it has reached source.max_retained_wal",
             {{"retained_bytes", BytesBetween(slot->restart_lsn, info.server.wal_end)},
              {"confirmed", slot->confirmed_flush_lsn},
              {"in_flight", parts_.tracker.records_in_flight()}});
  WR_RETURN_IF_ERROR(parts_.source.DropSlot());
  parts_.gaps.OnDropped(info);
  return dropped;
}

// The tracker changes only after the server has accepted START_REPLICATION: a refused start leaves
// everything as it was for the next attempt.
absl::Status SlotConnector::Start(const SourceInfo& info, const StartDecision& decision) {
  WR_CHECK(info.slot && !info.slot->active, "Open() returned a slot that can be read");
  WR_CHECK(!decision.keep_in_flight || !decision.timeline_switched,
           "positions of another timeline are not continued");
  // A start that fails may leave the slot to this backend for as long as the server does not notice
  // that the connection is gone.
  own_backend_pid_ = info.server.backend_pid;
  own_backend_started_ = info.server.backend_started;
  const auto confirmed = parts_.source.Start(decision.position);
  if (HasCode(confirmed.status(), ErrorCode::kSlotBusy)) {
    parts_.gaps.OnSlotTaken();  // after Open() had found the slot unused
  }
  WR_RETURN_IF_ERROR(confirmed.status());
  const Lsn read = info.slot->confirmed_flush_lsn;
  if (*confirmed && **confirmed != read) {
    // The next connection decides what it means, from the slot's new position.
    return Error(ErrorCode::kConnectionLost,
                 fmt::format("the slot was at {} when it was read, and at {} when it was acquired; "
                             "checking it again",
                             read.ToString(), (*confirmed)->ToString()));
  }
  if (decision.keep_in_flight) {
    parts_.tracker.Resume(decision.position);
  } else {
    parts_.tracker.Restart(decision.position, decision.last_published, decision.latest_commit);
  }
  wal_end_at_start_ = info.server.wal_end;
  stream_timeout_ = info.server.wal_sender_timeout;
  parts_.gaps.OnStreamStarted(info, decision);
  parts_.recorder.OnStreamStarted(info, decision);
  LogStart(info, decision);
  return absl::OkStatus();
}

void SlotConnector::LogStart(const SourceInfo& info, const StartDecision& decision) const {
  LogInfo("streaming", "started streaming from the slot",
          {{"start", decision.position},
           {"confirmed", info.slot->confirmed_flush_lsn},
           {"server_version", info.server.version},
           {"timeline", info.server.timeline},
           {"in_flight", parts_.tracker.records_in_flight()}});
  if (decision.published_before > decision.position) {
    LogInfo("skipping_published", "skipping what was published before, as recorded",
            {{"up_to", decision.published_before}});
  }
  if (decision.timeline_switched) {
    LogWarning("timeline_switched",
               "another server was promoted; with asynchronous replication, Kafka may contain "
               "events of transactions that the new primary does not have",
               {{"timeline", info.server.timeline},
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
absl::Status SlotConnector::FreeSlot(const SlotInfo& slot) {
  WR_CHECK(slot.active, "a slot in use has a user");
  if (IsOthers(slot)) {
    return Error(ErrorCode::kSlotBusy, fmt::format("held by server process {}", slot.active_pid));
  }
  WR_RETURN_IF_ERROR(parts_.source.TerminateBackend(own_backend_pid_));
  return Error(ErrorCode::kConnectionLost,
               "the previous connection still held the slot; terminated its backend");
}

// Whether another process reads the slot and is responsible for gaps meanwhile. The query may read
// the slots before the processes: the start of our own backend is unknown if it ends in between.
// Taken for another's, it would excuse what has changed since we read the publication.
bool SlotConnector::IsOthers(const SlotInfo& slot) const {
  const bool ours = slot.active_pid == own_backend_pid_ &&
                    slot.reader_started.value_or(own_backend_started_) == own_backend_started_;
  return slot.active && !ours;
}

void SlotConnector::RecordSlotOwner(const SlotInfo& slot) {
  if (IsOthers(slot)) {
    parts_.gaps.OnSlotTaken();
  }
}

// A missing slot is not in use: the next Open() finds out what that means.
absl::StatusOr<bool> SlotConnector::IsSlotInUse() {
  WR_CHECK(opened_, "the source was opened");
  WR_ASSIGN_OR_RETURN(const auto slot, parts_.source.InspectSlot());
  if (!slot || !slot->active) {
    return false;
  }
  RecordSlotOwner(*slot);
  return true;
}

void SlotConnector::OnPrimarySeen(const std::string& system_id, uint32_t timeline) {
  if (!system_id.empty()) {
    seen_system_id_ = system_id;
    seen_timeline_ = timeline;
  }
}

absl::Status SlotConnector::CheckNewest(const std::string& system_id, uint32_t timeline) const {
  return system_id == seen_system_id_ && timeline < seen_timeline_
             ? Error(ErrorCode::kServersDiffer,
                     fmt::format("the stream's server is on timeline {}, and a primary on timeline "
                                 "{} accepts connections",
                                 timeline, seen_timeline_))
             : absl::OkStatus();
}

// An error that occurs three times at the same position will occur again. A broken connection
// counts only if there was WAL to read: an idle stream stays at its position.
absl::Status SlotConnector::CountFailure(const absl::Status& error, uint64_t rows) {
  WR_CHECK(!error.ok(), "a stream fails for a reason");
  if (ReactionTo(error) == Reaction::kGap) {
    return error;  // what an operator decides is not retried
  }
  const Lsn position = parts_.tracker.resume();
  const bool unreadable = HasCode(error, ErrorCode::kProtocolViolation) ||
                          HasCode(error, ErrorCode::kPostgresError) ||
                          HasCode(error, ErrorCode::kRowExceedsMemory);
  const bool counts = !HasCode(error, ErrorCode::kPostgresShuttingDown) &&
                      (unreadable || wal_end_at_start_ > position);
  const bool same = failures_ > 0 && position == failed_at_;
  if (same && HasCode(error, ErrorCode::kServerSilent) && failure_code_ == CodeOf(error)) {
    AllowMoreTime();
  }
  failures_ = counts ? (same ? failures_ + 1 : 1) : 0;
  failure_code_ = CodeOf(error);
  failed_at_ = position;
  if (failures_ < kFailuresUntilStuck) {
    return error;
  }
  const std::string message =
      fmt::format("{} times at {}: {}", failures_, failed_at_.ToString(), MessageOf(error));
  if (!unreadable || !parts_.tracker.in_transaction()) {
    return Error(ErrorCode::kStreamStuck, message);
  }
  const PublishedTransaction& open = parts_.tracker.open_transaction();
  const absl::Status stuck = Error(
      ErrorCode::kStreamStuck,
      fmt::format("{}; in transaction {}, which committed at {} ({}), after {} of its rows",
                  message, open.xid, open.commit_lsn.ToString(), Rfc3339(open.commit_time), rows),
      StuckRemedy(parts_.source_config, open.xid, error));
  const bool accepted =
      parts_.state.stuck && parts_.state.stuck->transaction == open && parts_.state.stuck->accepted;
  parts_.state.stuck =
      StuckTransaction{.transaction = open,
                       .rows = rows,
                       .gap = {.error = stuck,
                               .id = fmt::format("2402-{:x}", open.commit_lsn.value()),
                               .from = open.commit_lsn,
                               .to = Lsn(open.commit_lsn.value() + 1)},
                       .accepted = accepted};
  return stuck;
}

// As the server decides it: a transaction is sent if its COMMIT record begins at the start of the
// stream or behind it (SnapBuildXactNeedsSkip in snapbuild.c), and the next COMMIT record does not
// begin within this one. So this position excludes exactly this transaction.
std::optional<Lsn> SlotConnector::AcceptedSkip(const SourceInfo& info) const {
  const auto& stuck = parts_.state.stuck;
  const AckTracker& tracker = parts_.tracker;
  if (!stuck || !stuck->accepted || !info.slot || tracker.records_in_flight() > 0 ||
      tracker.frontier() != tracker.resume()) {
    return std::nullopt;
  }
  const Lsn behind(stuck->transaction.commit_lsn.value() + 1);
  const bool usable = !info.slot->lost() && !info.server.in_recovery && tracker.resume() < behind &&
                      behind <= info.server.wal_end;
  return usable ? std::optional(behind) : std::nullopt;
}

// The audit line is the only trace of the rows that are left out.
void SlotConnector::Skip(Lsn position) {
  WR_CHECK(parts_.state.stuck && parts_.state.stuck->accepted, "an operator has accepted it");
  const StuckTransaction& stuck = *parts_.state.stuck;
  LogAudit("transaction_skipped", stuck.gap.error,
           {{"gap", stuck.gap.id},
            {"xid", stuck.transaction.xid},
            {"lsn", stuck.transaction.commit_lsn},
            {"committed", Rfc3339(stuck.transaction.commit_time)},
            {"rows_received", stuck.rows},
            {"start", position}});
  ForgetFailures();
  parts_.state.accepted_gap = stuck.gap.id;
  skip_to_ = position;
  parts_.state.stuck.reset();
}

// A server that decodes a huge transaction of other tables sends nothing meanwhile; with the same
// timeout the relay would disconnect at the same position each time.
void SlotConnector::AllowMoreTime() {
  const Micros present = std::max(
      sender_timeout_, std::max<Micros>(parts_.source_config.wal_sender_timeout, stream_timeout_));
  sender_timeout_ = std::min(2 * present, std::max(present, kLongestSenderTimeout));
  WR_CHECK(sender_timeout_ >= present, "the timeout only grows");
  LogWarning("sender_timeout",
             "the server was silent at the same position as before; increasing wal_sender_timeout",
             {{"wal_sender_timeout_ms", sender_timeout_.count() / 1000}});
}

}  // namespace walrelay
