#include "recover/recover_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "base/check.h"
#include "base/fnv.h"
#include "stream/gap.h"
#include "stream/progress_record.h"
#include "stream/publication_change.h"
#include "stream/start_position.h"
#include "walrelay/config/pipeline.h"
#include "walrelay/config/prune.h"
#include "walrelay/config/source.h"
#include "walrelay/error.h"
#include "walrelay/version.h"

namespace walrelay {
namespace {

// Clocks of the server, of brokers and of sinks differ.
constexpr Micros kBeforeHorizon = std::chrono::minutes(5);
// So much of the topics is read rather than to publish rows again.
constexpr Micros kShortRecord = std::chrono::hours(24);
// The xid of a cluster's first ordinary transaction: FirstNormalTransactionId in access/transam.h.
constexpr uint64_t kFirstXid = 3;

bool IsUsable(const RecoverEvidence& evidence) {
  return evidence.info.slot && !evidence.info.slot->lost();
}

// Problems that a new slot solves: there is none, or events are missing with the present one.
bool IsSolvedByNewSlot(const absl::Status& problem) {
  return HasCode(problem, ErrorCode::kSlotMissing) || ReactionTo(problem) == Reaction::kGap;
}

// The problem that prevents a relay that reads the record from continuing. OK: there is none.
// A gap that is held comes first: what has happened since, such as a slot that was dropped, does
// not undo it.
absl::Status ProblemOf(const RecoverEvidence& evidence) {
  const std::optional<Progress>& record = evidence.record;
  const auto memory = record ? std::optional(ResumeStateOf(*record)) : std::nullopt;
  const absl::Status start = DecideStart(memory, evidence.info).status();
  const bool held = record && record->held && (start.ok() || IsSolvedByNewSlot(start));
  return held ? GapOf(*record->held).error : start;
}

// Gaps that do not concern the slot. A new one would lack the events that the slot has, and that
// were deleted from the table since.
bool LeavesSlotIntact(const absl::Status& gap) {
  return HasCode(gap, ErrorCode::kPublicationChanged) ||
         HasCode(gap, ErrorCode::kProgressUnproven) || HasCode(gap, ErrorCode::kClusterChanged);
}

// Whether a relay without any memory continues from the slot.
bool SlotWorks(const SourceInfo& info) {
  return DecideStart(std::nullopt, info).ok();
}

absl::Status CheckSource(const SourceConfig& source, const PipelineConfig& pipeline,
                         const RecoverEvidence& evidence) {
  if (source.tables.front().name.empty()) {
    return Error(ErrorCode::kRecoveryUnproven,
                 "all events are logical messages, which are in the WAL and in no table",
                 "Nothing can be recovered. For a new slot: walrelay setup --apply.");
  }
  if (evidence.record) {
    WR_RETURN_IF_ERROR(CheckOwner(*evidence.record, source, pipeline, evidence.info.server));
  }
  if (evidence.info.slot && evidence.info.slot->active) {
    return Error(ErrorCode::kSlotBusy,
                 fmt::format("process {} of the server reads slot {}",
                             evidence.info.slot->active_pid, source.slot),
                 "Nothing is to be recovered while a relay reads the slot.");
  }
  if (evidence.info.recovery_pid != 0) {
    return Error(ErrorCode::kSlotBusy,
                 fmt::format("another walrelay recover is replacing slot {} (process {} of the "
                             "server)",
                             source.slot, evidence.info.recovery_pid),
                 "Wait until it has ended.");
  }
  const auto problems = PublicationProblems(evidence.info, source.publication);
  return problems.empty() ? absl::OkStatus() : problems.front();
}

// pg_upgrade copies the tables with their xids and continues the numbering; only positions and the
// system identifier differ. The old server was shut down first, so no horizon is of WAL that was
// lost.
Progress AsUpgraded(Progress record, const ServerInfo& server) {
  record.system_id = server.system_id;
  record.timeline = server.timeline;
  record.ancestors = server.ancestors;
  record.frontier = Lsn();
  for (XidHorizon& horizon : record.horizons) {
    horizon.insert_lsn = Lsn();
  }
  return record;
}

// Rows from before the record begins are not to be recovered, so that a horizon counts also where
// no row follows that beginning. One that is greater than the next xid is of another history.
std::optional<PublishedXids> ProvenXids(const RecoverEvidence& evidence,
                                        const RecoverOptions& options) {
  if (!evidence.record || !evidence.record->published_from.valid() ||
      (evidence.record->held && !KeepsProof(GapOf(*evidence.record->held).error))) {
    return std::nullopt;
  }
  const ServerInfo& server = evidence.info.server;
  const bool upgraded = options.upgraded && evidence.record->system_id != server.system_id;
  // Rows may have been hidden from the stream since. An upgrade changes the catalog rows
  // themselves.
  const uint64_t publication = PublicationFingerprint(evidence.info.publication_state.identity);
  if (!upgraded && evidence.record->publication != publication) {
    return std::nullopt;
  }
  Progress record = upgraded ? AsUpgraded(*evidence.record, server) : *evidence.record;
  record.published_from.xid = 1;
  auto proven = PublishedXidsOf(record, server);
  if (!proven || proven->before > evidence.next.xid) {
    return std::nullopt;
  }
  proven->from = evidence.record->published_from;
  return proven;
}

// A row that is not proven may have been published long before the horizon was read: while a
// transaction is open, no horizon moves past its xid. So the time is that of the last horizon that
// did, before that transaction was the oldest.
void CompareSinceHorizon(const Progress& record, RecoveryScope& scope) {
  WallTime since = scope.proven->as_of;
  scope.compares_too_little = true;
  for (auto horizon = record.horizons.rbegin(); horizon != record.horizons.rend(); ++horizon) {
    if (horizon->taken <= scope.proven->as_of && scope.compares_too_little) {
      since = horizon->taken;
      scope.compares_too_little = horizon->xid == scope.proven->before;
    }
  }
  // None of these rows was written before the record begins.
  if (scope.compares_too_little && scope.proven->as_of - scope.proven->from.taken <= kShortRecord) {
    since = scope.proven->from.taken;
    scope.compares_too_little = false;
  }
  scope.compare_since = since - kBeforeHorizon;
}

// The horizons that were proven remain true, and show when the numbering was where.
std::vector<XidHorizon> HorizonsBefore(const NewSlot& slot, const RecoverEvidence& evidence,
                                       const RecoveryScope& scope) {
  std::vector<XidHorizon> kept;
  if (scope.rows.since == RowsSince::kHorizon) {
    for (XidHorizon horizon : evidence.record->horizons) {
      if (horizon.taken <= scope.proven->as_of && horizon.xid <= slot.xmin) {
        horizon.insert_lsn = slot.position;
        kept.push_back(horizon);
      }
    }
  }
  // With that of the slot, a record has four.
  constexpr size_t kMost = 3;
  if (kept.size() > kMost) {
    kept.erase(kept.begin(), kept.end() - kMost);
  }
  return kept;
}

// pg_upgrade moves a slot (Postgres 17 and later) only if it has read everything, so that nothing
// is missing. A new slot would not have what was committed since, and deleted from the tables.
absl::Status UpgradedSlotWorks(const SourceConfig& source) {
  return Error(
      ErrorCode::kUsage, fmt::format("slot {} works on this server", source.slot),
      fmt::format(
          "If pg_upgrade moved it here, nothing is missing: start walrelay, which holds (WR-2201), "
          "then walrelay resume --accept-gap. If it was created after the upgrade, it lacks what "
          "was committed before: SELECT pg_drop_replication_slot('{}'); then run this command "
          "again.",
          source.slot));
}

absl::Status Unproven(const SourceConfig& source, const PipelineConfig& pipeline,
                      const RecoverEvidence& evidence) {
  const bool other =
      evidence.record && evidence.record->system_id != evidence.info.server.system_id;
  return Error(
      ErrorCode::kRecoveryUnproven,
      !evidence.record ? fmt::format("pipeline \"{}\" has no progress record",
                                     PipelineIdOf(source, pipeline, evidence.info.server.database))
      : other          ? fmt::format("the progress record is of system {}, and this is system {}",
                                     evidence.record->system_id, evidence.info.server.system_id)
                       : "no horizon of the progress record proves anything for this server",
      other ? "If this server is what pg_upgrade made of the recorded one: --upgraded. Otherwise "
              "choose the rows to publish: --since TIME, --after-id ID or --all."
            : "Choose the rows to publish: --since TIME, --after-id ID or --all. A row that is "
              "published already, and that the topics no longer have, is then published again.");
}

}  // namespace

absl::StatusOr<std::optional<RecoveryScope>> DecideRecovery(const SourceConfig& source,
                                                            const PipelineConfig& pipeline,
                                                            const PruneConfig& prune,
                                                            const RecoverEvidence& evidence,
                                                            const RecoverOptions& options) {
  const bool chosen = options.rows.since != RowsSince::kHorizon;
  WR_RETURN_IF_ERROR(CheckSource(source, pipeline, evidence));
  RecoveryScope scope{.problem = ProblemOf(evidence), .rows = options.rows};
  if (scope.problem.ok() && !chosen) {
    return std::nullopt;
  }
  if (scope.problem.ok() && UnprovenBefore(evidence) == 0) {
    return Error(ErrorCode::kUsage,
                 fmt::format("slot {} works, and the progress record shows that nothing is missing",
                             source.slot),
                 "To publish rows again: walrelay republish.");
  }
  if (!scope.problem.ok() && !IsSolvedByNewSlot(scope.problem)) {
    return scope.problem;
  }
  scope.keeps_slot =
      (scope.problem.ok() || LeavesSlotIntact(scope.problem)) && SlotWorks(evidence.info);
  if (options.upgraded && HasCode(scope.problem, ErrorCode::kSystemChanged) &&
      SlotWorks(evidence.info)) {
    return UpgradedSlotWorks(source);
  }
  if (scope.keeps_slot && options.failover) {
    return Error(ErrorCode::kUsage, fmt::format("slot {} is kept", source.slot),
                 "Run the command without --failover. The next walrelay recover says how to make "
                 "it a failover slot.");
  }
  scope.failover = options.failover || (evidence.info.slot && evidence.info.slot->failover);
  scope.proven = ProvenXids(evidence, options);
  if (chosen) {
    if (evidence.record && !options.upgraded) {
      WR_RETURN_IF_ERROR(CheckUnused(*evidence.record, evidence.info.server, /*run_id=*/""));
    }
    if (options.compare_since || options.rows.since == RowsSince::kTime) {
      scope.compare_since = options.compare_since.value_or(options.rows.time - kBeforeHorizon);
    }
    return scope;
  }
  if (!scope.proven) {
    return Unproven(source, pipeline, evidence);
  }
  scope.rows.from_xid = scope.proven->before;
  scope.rows.proven_from = scope.proven->from;
  scope.rows.proven_as_of = scope.proven->as_of;
  scope.rows.proven_time_column = prune.time_column;
  scope.rows.attachments_known = evidence.record->system_id == evidence.info.server.system_id;
  CompareSinceHorizon(*evidence.record, scope);
  if (options.compare_since) {
    scope.compare_since = options.compare_since;
    scope.compares_too_little = false;
  }
  return scope;
}

uint64_t UnprovenBefore(const RecoverEvidence& evidence) {
  const std::optional<Progress>& record = evidence.record;
  if (record && record->generation == 0) {
    return 0;
  }
  return record && record->published_from.valid() ? record->published_from.xid
                                                  : evidence.slot_from_xid;
}

absl::Status UnprovenRows(const SourceConfig& source, const PipelineConfig& pipeline,
                          const RecoverEvidence& evidence, uint64_t rows) {
  return Error(
      ErrorCode::kRecoveryUnproven,
      fmt::format("slot {} works, but it streams none of {} older rows, and pipeline \"{}\" has no "
                  "progress record that shows whether they are published",
                  source.slot, rows, PipelineIdOf(source, pipeline, evidence.info.server.database)),
      "If this slot has replaced one that was lost: let the relay publish what the slot has, stop "
      "it, and choose the rows to compare with the topics: --since TIME, --after-id ID or --all. "
      "Those that are missing there are published, and the slot is kept. If no slot was lost, "
      "nothing is missing.");
}

NewSlot KeptSlot(const RecoverEvidence& evidence) {
  return {.position = evidence.info.slot->confirmed_flush_lsn,
          .snapshot = "",
          .xmin = std::max(evidence.slot_from_xid, kFirstXid),
          .xmax = evidence.next.xid,
          .taken = evidence.next.taken,
          .system_id = evidence.info.server.system_id,
          .timeline = evidence.info.server.timeline};
}

// The snapshot has every row of a transaction that ended before the slot's position. So has the
// stream of the others: the next horizon is that of the snapshot.
Progress RecordAfter(const SourceConfig& source, const PipelineConfig& pipeline,
                     const RecoverEvidence& evidence, const RecoveryScope& scope,
                     const NewSlot& slot) {
  WR_CHECK(slot.position.valid() && slot.xmin >= kFirstXid, "the slot is known");
  SourceInfo info = evidence.info;
  info.slot = SlotInfo{.confirmed_flush_lsn = slot.position};
  Progress record = ProgressFrom(source, pipeline, info);
  record.generation = evidence.record ? evidence.record->generation + 1 : 0;
  record.publication = PublicationFingerprint(info.publication_state.identity);
  // A slot that is kept has streamed events since its position, so that no horizon is known.
  if (!scope.keeps_slot) {
    record.horizons = HorizonsBefore(slot, evidence, scope);
    record.horizons.push_back({.xid = slot.xmin, .insert_lsn = slot.position, .taken = slot.taken});
  }
  switch (scope.rows.since) {
    case RowsSince::kHorizon:
      record.published_from = scope.proven->from;
      break;
    case RowsSince::kAll:
      record.published_from = {.xid = kFirstXid};
      break;
    case RowsSince::kTime:
    case RowsSince::kId:
      // Whether the rows that were not chosen are published is unknown.
      record.published_from = {.xid = slot.xmax, .taken = slot.taken};
      break;
  }
  return record;
}

std::string PlanId(const SourceConfig& source, const PipelineConfig& pipeline,
                   const RecoverPlan& plan) {
  Fnv64 digest;
  const SourceInfo& info = plan.evidence.info;
  digest.Add(PipelineIdOf(source, pipeline, info.server.database));
  digest.Add(fmt::format("{} {} {}", info.server.system_id, info.server.timeline,
                         info.slot ? info.slot->confirmed_flush_lsn.ToString() : "none"));
  const absl::Status& problem = plan.scope.problem;
  digest.Add(fmt::format("{} {} {}", problem.ok() ? "" : ToString(CodeOf(problem)),
                         IsUsable(plan.evidence), plan.scope.keeps_slot));
  if (const auto& record = plan.evidence.record) {
    digest.Add(fmt::format("{} {} {}", record->run_id, record->sequence, record->generation));
  }
  const RowsToRecover& rows = plan.scope.rows;
  digest.Add(fmt::format("{} {} {}", static_cast<int>(rows.since), rows.from_xid,
                         rows.time.time_since_epoch().count()));
  digest.Add(rows.after_id);
  digest.Add(rows.time_column);
  digest.Add(rows.order_by);
  const RecoverOptions& options = plan.options;
  digest.Add(fmt::format("{} {} {} {} {}", options.compare, options.max_rows, plan.scope.failover,
                         options.upgraded,
                         options.compare_since.value_or(WallTime()).time_since_epoch().count()));
  return fmt::format("{:08x}-{}", static_cast<uint32_t>(digest.value() ^ (digest.value() >> 32)),
                     plan.rows.rows);
}

bool IsCoveredBy(const RecoverPlan& plan, std::string_view id) {
  const auto count_of = [](std::string_view text) -> std::optional<uint64_t> {
    const std::string_view digits = text.substr(std::min(text.rfind('-') + 1, text.size()));
    uint64_t count = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), count);
    return error == std::errc() && end == digits.data() + digits.size() ? std::optional(count)
                                                                        : std::nullopt;
  };
  const auto agreed = count_of(id);
  return agreed && plan.rows.rows >= *agreed &&
         id.substr(0, id.rfind('-')) == plan.id.substr(0, plan.id.rfind('-'));
}

}  // namespace walrelay
