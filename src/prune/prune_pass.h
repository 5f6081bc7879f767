// One pass of pruning over all outbox tables, on a connection of its own: creates and drops
// partitions, and deletes or marks rows, as [prune] says and as far as a proof allows.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "postgres/connection.h"
#include "prune/prune_action.h"
#include "prune/prune_proof.h"
#include "prune/prune_status.h"
#include "prune/pruner.h"
#include "walrelay/config/source.h"

namespace walrelay {

struct PruneConfig;

// source.dsn and its password, or those of [prune].
SourceConfig PruneLogin(const SourceConfig& source, const PruneConfig& prune);

// The partitions that a pass with kDrop would create now. Errors: WR-2309, those of
// PgConnection::Query().
absl::StatusOr<std::vector<std::string>> FindMissingPartitions(PgConnection& connection,
                                                               const PruneConfig& prune,
                                                               const OutboxTable& table);

// Blocks for as long as the queries and the pauses take. Without a proof, only missing partitions
// are created, and the outcome is WR-2323. Changes made before an error remain, and are counted.
// kCancelled: `interrupt_fd` became readable. Errors: those of OpenSession(), MaintainPartitions()
// and Pruner::Run().
//
// REQUIRES: the mode is not kOff.
PruneOutcome RunPrunePass(const SourceConfig& source, const PruneConfig& prune,
                          const std::optional<PruneProof>& proof, PruneAction action,
                          int interrupt_fd, const Pruner::Pace& pace);

}  // namespace walrelay
