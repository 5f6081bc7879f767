#include "doctor/prune_checks.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/check.h"
#include "prune/outbox_partitions.h"
#include "prune/prune_pass.h"
#include "prune/pruner.h"
#include "walrelay/config/prune.h"
#include "walrelay/config/source.h"
#include "walrelay/error.h"

namespace walrelay {
namespace {

std::string NameOf(const OutboxTable& table) {
  return fmt::format("{}.{}", table.schema, table.name);
}

absl::Status CheckDefaultPartition(PgConnection& connection, const OutboxTable& table,
                                   Micros timeout, Findings& out) {
  WR_ASSIGN_OR_RETURN(const auto partitions, ReadPartitions(connection, table, timeout));
  const auto other = std::find_if(partitions.begin(), partitions.end(),
                                  [](const OutboxPartition& each) { return each.is_default; });
  if (other == partitions.end()) {
    out.Warn("prune.default_partition", fmt::format("table {} has none", NameOf(table)),
             "An INSERT for which no partition exists fails. docs/guides/partitioning.md shows how "
             "to add one.");
    return absl::OkStatus();
  }
  WR_ASSIGN_OR_RETURN(const bool used, HasRows(connection, *other, timeout));
  if (used) {
    out.Warn("prune.default_partition", fmt::format("{}.{} has rows", other->schema, other->name),
             "walrelay run deletes them when they are published and older than prune.keep. Until "
             "then the partitions of their periods cannot be created.");
  } else {
    out.Good("prune.default_partition", fmt::format("{}.{} is empty", other->schema, other->name));
  }
  return absl::OkStatus();
}

absl::Status CheckPartitions(PgConnection& connection, const SourceConfig& source,
                             const PruneConfig& prune, const OutboxTable& table, Findings& out) {
  const Micros timeout = source.connect_timeout;
  const auto missing = FindMissingPartitions(connection, prune, table);
  absl::Status problem = missing.status();
  problem.Update(CheckPartitionOwner(connection, table, timeout));
  if (!problem.ok()) {
    out.Problem("prune.partitions", problem);
    return absl::OkStatus();
  }
  if (missing->empty()) {
    out.Good("prune.partitions", fmt::format("table {} has the next partitions", NameOf(table)));
  } else {
    out.Warn("prune.partitions",
             fmt::format("table {} lacks {}", NameOf(table), fmt::join(*missing, ", ")),
             "walrelay prune --apply, or start walrelay run, which creates them.");
  }
  return CheckDefaultPartition(connection, table, timeout, out);
}

}  // namespace

absl::Status CheckPruning(PgConnection& connection, const SourceConfig& source,
                          const PruneConfig& prune, Findings& out) {
  WR_CHECK(prune.mode != PruneMode::kOff, "pruning is on");
  const auto tables = Pruner(connection, source, prune, PruneAction::kCount, {}).FindTables();
  if (tables.ok()) {
    out.Good("prune.tables", fmt::format("role {} may prune the tables", connection.user()));
  } else {
    out.Problem("prune.tables", tables.status());
  }
  for (const OutboxTable& table : source.tables) {
    if (prune.mode == PruneMode::kDrop && !table.name.empty()) {
      WR_RETURN_IF_ERROR(CheckPartitions(connection, source, prune, table, out));
    }
  }
  return absl::OkStatus();
}

}  // namespace walrelay
