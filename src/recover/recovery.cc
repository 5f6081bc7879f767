#include "recover/recovery.h"

#include <fmt/format.h>

#include <utility>
#include <vector>

#include "base/check.h"
#include "recover/recovery_slot.h"
#include "walrelay/error.h"

namespace walrelay {

absl::StatusOr<std::optional<RecoverPlan>> Recovery::Plan() {
  WR_ASSIGN_OR_RETURN(RecoverEvidence evidence, parts_.source.ReadEvidence());
  WR_ASSIGN_OR_RETURN(evidence.record, parts_.progress.Read(evidence.info.server.database));
  WR_ASSIGN_OR_RETURN(auto scope, DecideRecovery(parts_.source_config, parts_.pipeline_config,
                                                 parts_.prune_config, evidence, options_));
  if (!scope) {
    WR_RETURN_IF_ERROR(CountUnproven(evidence));
    lacks_failover_ = HasFailover(evidence.info.server.version) && !evidence.info.slot->failover;
    return std::nullopt;
  }
  RecoverPlan plan{
      .evidence = std::move(evidence), .options = options_, .scope = *std::move(scope)};
  published_.emplace(options_.compare ? &parts_.tails : nullptr, plan.scope.compare_since);
  MissingRecords missing(*published_);
  RecordAges ages;
  WR_ASSIGN_OR_RETURN(plan.rows, parts_.rows.Count(plan.scope.rows, [&](const Record& record) {
    auto is_missing = missing.IsMissing(record);
    if (is_missing.ok() && *is_missing) {
      ages.Note(record.topic, record.timestamp);
    }
    return is_missing;
  }));
  plan.compared = {.records = published_->records_read(),
                   .over_limit = published_->over_limit(),
                   .overtaken = missing.overtaken(),
                   .doubts = published_->doubts()};
  if (parts_.deleted_at_once) {
    auto deleted = parts_.deleted_at_once(ages);
    plan.retention = deleted.status();
    plan.deleted = std::move(deleted).value_or(std::vector<DeletedAtOnce>());
  }
  plan.id = PlanId(parts_.source_config, parts_.pipeline_config, plan);
  parts_.tails.Release();  // a consumer takes memory that the sink needs next
  return plan;
}

absl::Status Recovery::CountUnproven(const RecoverEvidence& evidence) {
  unproven_rows_ = 0;
  if (const uint64_t before = UnprovenBefore(evidence); before != 0) {
    WR_ASSIGN_OR_RETURN(unproven_rows_, parts_.rows.CountBefore(before));
  }
  return evidence.record || unproven_rows_ == 0
             ? absl::OkStatus()
             : UnprovenRows(parts_.source_config, parts_.pipeline_config, evidence, unproven_rows_);
}

absl::Status Recovery::EnableFailover() {
  WR_CHECK(lacks_failover_, "the slot works, without failover");
  return parts_.source.EnableFailover();
}

// The order of the steps is what makes it safe: the slot before the snapshot, every acknowledgement
// before the record, and the record before the slot that a relay may read. The temporary slot also
// keeps relays and other recoveries away, where the pipeline's slot is kept.
absl::StatusOr<RecoveredRows> Recovery::Apply(const RecoverPlan& plan) {
  WR_CHECK(published_.has_value(), "a plan precedes its execution");
  WR_ASSIGN_OR_RETURN(const NewSlot slot, parts_.source.CreateSlot());
  const ServerInfo& server = plan.evidence.info.server;
  if (slot.system_id != server.system_id || slot.timeline != server.timeline) {
    return Error(ErrorCode::kSystemChanged,
                 fmt::format("the plan is for system {} on timeline {}, and the server is now "
                             "system {} on timeline {}",
                             server.system_id, server.timeline, slot.system_id, slot.timeline),
                 "Nothing was changed. Run walrelay recover again, for a new plan.");
  }
  WR_ASSIGN_OR_RETURN(const RecoveredRows rows,
                      parts_.rows.Publish(plan.scope.rows, slot.snapshot, plan.id,
                                          [this](const Record& record) -> absl::StatusOr<bool> {
                                            WR_ASSIGN_OR_RETURN(const bool found,
                                                                published_->Contains(record));
                                            return !found;
                                          }));
  if (plan.scope.keeps_slot) {
    WR_RETURN_IF_ERROR(EndGap(plan));
    return rows;
  }
  WR_RETURN_IF_ERROR(parts_.progress.Write(
      RecordAfter(parts_.source_config, parts_.pipeline_config, plan.evidence, plan.scope, slot)));
  WR_RETURN_IF_ERROR(parts_.source.ReplaceSlot(plan.scope.failover));
  return rows;
}

// The record ends the gap that it holds, as if an operator had accepted it. If it holds none, what
// it says stays true.
absl::Status Recovery::EndGap(const RecoverPlan& plan) {
  return plan.scope.problem.ok() ? absl::OkStatus()
                                 : parts_.progress.Write(RecordAfter(
                                       parts_.source_config, parts_.pipeline_config, plan.evidence,
                                       plan.scope, KeptSlot(plan.evidence)));
}

}  // namespace walrelay
