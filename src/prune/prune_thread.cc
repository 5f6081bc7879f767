#include "prune/prune_thread.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "base/log.h"
#include "base/text.h"
#include "prune/prune_pass.h"
#include "walrelay/config/prune.h"
#include "walrelay/error.h"

namespace walrelay {

PruneThread::PruneThread(const SourceConfig& source, const PruneConfig& prune, const Clock& clock,
                         Metrics& metrics, Callbacks callbacks)
    : source_(source),
      prune_(prune),
      clock_(clock),
      metrics_(metrics),
      callbacks_(std::move(callbacks)) {
  if (prune_.mode != PruneMode::kOff) {
    worker_.Start([this] { Run(); });
  }
}

void PruneThread::Run() {
  *metrics_.pruned_rows;  // exists from now on
  while (worker_.Rest(prune_.interval)) {
    const PrunePermission permission = callbacks_.may_prune();
    status_.paused = permission == PrunePermission::kPaused;
    if (permission == PrunePermission::kYes) {
      const PruneOutcome outcome = Pass();
      if (absl::IsCancelled(outcome.error)) {
        return;
      }
      Report(outcome);
    }
    callbacks_.reported(permission == PrunePermission::kStandby ? std::nullopt
                                                                : std::optional(status_));
  }
}

PruneOutcome PruneThread::Pass() {
  return RunPrunePass(
      source_, prune_, ProofForPruning(callbacks_.published(), source_), PruneAction::kApply,
      worker_.stop_fd(), [this](uint64_t pruned, Micros pause) {
        status_.pruned += pruned;
        metrics_.pruned_rows->Increment(static_cast<double>(pruned));
        return callbacks_.may_prune() == PrunePermission::kYes && worker_.Rest(pause);
      });
}

// One line for each error that lasts.
void PruneThread::Report(const PruneOutcome& outcome) {
  if (!outcome.error.ok()) {
    metrics_.prune_errors[ToString(CodeOf(outcome.error))].Increment();
    if (status_.error != outcome.error) {
      LogStatus(LogLevel::kWarning, "not_pruned", outcome.error);
    }
  }
  status_.error = outcome.error;
  ReportPartitions(outcome.count.partitions);
  if (outcome.complete) {
    ReportComplete(outcome.count);
  }
}

// One line for each change, and for each problem that lasts.
void PruneThread::ReportPartitions(const PartitionChanges& changes) {
  const auto names = [](const std::vector<std::string>& partitions) {
    return Printable(fmt::format("{}", fmt::join(partitions, ", ")));
  };
  if (!changes.created.empty() || !changes.dropped.empty()) {
    LogInfo("partitions", "partitions were created or dropped",
            {{"created", names(changes.created)}, {"dropped", names(changes.dropped)}});
  }
  const std::vector<PartitionProblem>& known = status_.last.partitions.problems;
  for (const PartitionProblem& problem : changes.problems) {
    if (std::find(known.begin(), known.end(), problem) == known.end()) {
      LogWarning(
          "partition_problem", "a partition was not created or not dropped",
          {{"partition", Printable(problem.partition, 63)}, {"reason", Printable(problem.reason)}});
    }
  }
  metrics_.prune_partition_problems->Set(static_cast<double>(changes.problems.size()));
  status_.last.partitions = changes;
}

void PruneThread::ReportComplete(const PruneCount& count) {
  const WallTime now = clock_.WallNow();
  metrics_.prune_unproven_rows->Set(static_cast<double>(count.kept));
  metrics_.prune_timestamp->Set(std::chrono::duration<double>(now.time_since_epoch()).count());
  if (count.pruned > 0 || count.kept != status_.last.kept) {
    LogInfo("pruned",
            count.pruned > 0 ? "published rows were pruned"
                             : "old rows that are not proven to be published are kept",
            {{"rows", count.pruned}, {"unproven", count.kept}});
  }
  status_.last = count;
  status_.complete = now;
}

}  // namespace walrelay
