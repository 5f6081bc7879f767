#include "cli/prune_report.h"

#include <fmt/format.h>

#include <string_view>
#include <vector>

#include "base/json_writer.h"
#include "base/text.h"
#include "walrelay/config/prune.h"
#include "walrelay/error.h"

namespace walrelay {
namespace {

constexpr size_t kLongestName = 63;

std::string_view RowChange(const PruneConfig& config, bool applied) {
  if (config.mode == PruneMode::kMark) {
    return applied ? "marked" : "to mark";
  }
  return applied ? "deleted" : "to delete";
}

std::string PartitionLines(std::string_view what, const std::vector<std::string>& partitions) {
  std::string out;
  for (const std::string& partition : partitions) {
    out += fmt::format("partition {}: {}\n", Printable(partition, kLongestName), what);
  }
  return out;
}

std::string NamesJson(const std::vector<std::string>& names) {
  return JsonArray(names, [](const std::string& name) { return JsonText(name); });
}

std::string ProblemJson(const PartitionProblem& problem) {
  JsonObject out;
  out.Add("partition", problem.partition);
  out.Add("reason", problem.reason);
  return std::move(out).Finish();
}

}  // namespace

std::string PruneText(const PruneConfig& config, PruneAction action, const PruneOutcome& outcome) {
  const bool applied = action == PruneAction::kApply;
  const PruneCount& count = outcome.count;
  std::string out = PartitionLines(applied ? "created" : "to create", count.partitions.created) +
                    PartitionLines(applied ? "dropped" : "to drop", count.partitions.dropped);
  for (const auto& [partition, reason] : count.partitions.problems) {
    out += fmt::format("partition {}: not {}: {}\n", Printable(partition, kLongestName),
                       applied ? "changed" : "to change", Printable(reason));
  }
  out += fmt::format("published rows older than {}: {} {}\n", FormatDuration(config.keep),
                     count.pruned, RowChange(config, applied));
  if (count.kept > 0) {
    out +=
        fmt::format("rows without proof that they are published: {} kept, the oldest is {} old\n",
                    count.kept, FormatDuration(count.oldest_kept.value_or(Micros(0))));
  }
  if (count.locked > 0) {
    out += fmt::format("page ranges with a locked row: {} left out; run the command again\n",
                       count.locked);
  }
  return out;
}

std::string PruneJson(PruneAction action, const PruneOutcome& outcome) {
  const PruneCount& count = outcome.count;
  JsonObject out;
  out.Add("applied", action == PruneAction::kApply);
  out.Add("complete", outcome.complete);
  out.Add("rows", count.pruned);
  out.Add("unproven_rows", count.kept);
  if (count.oldest_kept) {
    out.Add("oldest_unproven_seconds", std::chrono::duration<double>(*count.oldest_kept).count());
  }
  out.Add("locked_ranges", count.locked);
  out.Raw("partitions_created", NamesJson(count.partitions.created));
  out.Raw("partitions_dropped", NamesJson(count.partitions.dropped));
  out.Raw("partition_problems", JsonArray(count.partitions.problems, ProblemJson));
  return std::move(out).Finish() + "\n";
}

}  // namespace walrelay
