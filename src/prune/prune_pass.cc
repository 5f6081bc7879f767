#include "prune/prune_pass.h"

#include <iterator>

#include "base/check.h"
#include "postgres/catalog_queries.h"
#include "postgres/session.h"
#include "prune/outbox_partitions.h"
#include "walrelay/config/prune.h"
#include "walrelay/config/source.h"
#include "walrelay/error.h"

namespace walrelay {
namespace {

constexpr std::chrono::seconds kPassTimeout{10};

// Without a proof partitions are only created.
PartitionPolicy PolicyOf(const PruneConfig& prune, bool proven) {
  return {.period = prune.partitions,
          .ahead = static_cast<int>(prune.partitions_ahead),
          .keep = proven ? std::optional(prune.keep) : std::nullopt};
}

void Append(std::vector<std::string> names, std::vector<std::string>& to) {
  to.insert(to.end(), std::make_move_iterator(names.begin()), std::make_move_iterator(names.end()));
}

absl::StatusOr<WallTime> ServerTime(PgConnection& connection) {
  WR_ASSIGN_OR_RETURN(
      const PgResult row,
      connection.Query("SELECT extract(epoch FROM pg_catalog.clock_timestamp()) AS now",
                       kPassTimeout));
  return WallTime(row.Seconds(0, "now").value_or(Micros(0)));
}

absl::Status PrunePartitions(PgConnection& connection, const SourceConfig& source,
                             const PruneConfig& prune, const std::optional<PruneProof>& proof,
                             PruneAction action, PartitionChanges& all) {
  WR_ASSIGN_OR_RETURN(const WallTime now, ServerTime(connection));
  const PartitionPolicy policy = PolicyOf(prune, proof.has_value());
  for (const OutboxTable& table : source.tables) {
    if (table.name.empty()) {
      continue;
    }
    WR_RETURN_IF_ERROR(CheckPartitionOwner(connection, table, kPassTimeout));
    WR_ASSIGN_OR_RETURN(PartitionChanges changes,
                        MaintainPartitions(connection, table, proof, policy, action, now));
    Append(std::move(changes.created), all.created);
    Append(std::move(changes.dropped), all.dropped);
    all.problems.insert(all.problems.end(), changes.problems.begin(), changes.problems.end());
  }
  return absl::OkStatus();
}

// "" is unknown to this role; the statements recognize the server, too.
absl::Status CheckSystem(PgConnection& connection, const std::optional<PruneProof>& proof) {
  if (!proof) {
    return absl::OkStatus();
  }
  WR_ASSIGN_OR_RETURN(const std::string system, ReadSystemId(connection, kPassTimeout));
  return system.empty() || system == proof->system_id
             ? absl::OkStatus()
             : Error(ErrorCode::kPruneUnproven,
                     "the connection reaches another server than the stream");
}

absl::Status RunPass(const SourceConfig& source, const PruneConfig& prune,
                     const std::optional<PruneProof>& proof, PruneAction action, int interrupt_fd,
                     const Pruner::Pace& pace, PruneOutcome& outcome) {
  const bool drops = prune.mode == PruneMode::kDrop;
  const absl::Status unproven =
      Error(ErrorCode::kPruneUnproven,
            "walrelay does not stream, or has not recorded any transaction id");
  if (!proof && !drops) {
    return unproven;
  }
  WR_ASSIGN_OR_RETURN(OpenedSession session,
                      OpenSession(PruneLogin(source, prune), {.purpose = ConnectionPurpose::kSetup,
                                                              .interrupt_fd = interrupt_fd}));
  WR_RETURN_IF_ERROR(CheckSystem(session.connection, proof));
  if (drops) {
    WR_RETURN_IF_ERROR(PrunePartitions(session.connection, source, prune, proof, action,
                                       outcome.count.partitions));
  }
  if (!proof) {
    return unproven;
  }
  Pruner pruner(session.connection, source, prune, action, pace);
  WR_ASSIGN_OR_RETURN(outcome.complete, pruner.Run(*proof, outcome.count));
  return absl::OkStatus();
}

}  // namespace

SourceConfig PruneLogin(const SourceConfig& source, const PruneConfig& prune) {
  SourceConfig login = source;
  if (!prune.dsn.empty()) {
    login.dsn = prune.dsn;
    login.password = Secret();
    login.password_file = prune.password_file;
    login.password_command.clear();
  }
  return login;
}

absl::StatusOr<std::vector<std::string>> FindMissingPartitions(PgConnection& connection,
                                                               const PruneConfig& prune,
                                                               const OutboxTable& table) {
  WR_ASSIGN_OR_RETURN(const WallTime now, ServerTime(connection));
  WR_ASSIGN_OR_RETURN(PartitionChanges changes,
                      MaintainPartitions(connection, table, std::nullopt, PolicyOf(prune, false),
                                         PruneAction::kCount, now));
  return std::move(changes.created);
}

// A connection per pass: none is held while there is nothing to do.
PruneOutcome RunPrunePass(const SourceConfig& source, const PruneConfig& prune,
                          const std::optional<PruneProof>& proof, PruneAction action,
                          int interrupt_fd, const Pruner::Pace& pace) {
  WR_CHECK(prune.mode != PruneMode::kOff, "pruning is on");
  PruneOutcome outcome;
  outcome.error = RunPass(source, prune, proof, action, interrupt_fd, pace, outcome);
  return outcome;
}

}  // namespace walrelay
