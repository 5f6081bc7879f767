#include "prune/prune_proof.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/quote.h"
#include "walrelay/config/source.h"

namespace walrelay {

// The stream runs on the server of the proof, so that has all of the WAL that was read. The
// statements that prune compare the server again.
std::optional<PruneProof> ProofForPruning(const std::optional<PublishedProof>& published,
                                          const SourceConfig& source) {
  if (!published || !published->current) {
    return std::nullopt;
  }
  const Progress& progress = published->progress;
  const auto xids = PublishedXidsOf(progress, {.system_id = progress.system_id,
                                               .timeline = progress.timeline,
                                               .ancestors = progress.ancestors,
                                               .wal_end = progress.frontier});
  return xids ? std::optional(PruneProof{.xids = *xids,
                                         .system_id = progress.system_id,
                                         .timeline = progress.timeline,
                                         .backend_pid = published->backend_pid,
                                         .server_started = published->server_started,
                                         .slot = source.slot})
              : std::nullopt;
}

// As far back as 32 bits can tell: PublishedXids::length().
PruneProof IncludeOlderRows(PruneProof proof) {
  constexpr uint64_t kOldest = uint64_t{1} << 31;
  constexpr uint64_t kFirstNormalXid = 3;
  const uint64_t before = proof.xids.before;
  proof.xids.from = {.xid = std::max(kFirstNormalXid, before - std::min(before, kOldest)),
                     .taken = WallTime()};
  return proof;
}

// The name of a WAL file begins with the timeline. An xid that the server has not assigned yet is
// not in a row that was published.
std::string IsServerOf(const PruneProof& proof) {
  return fmt::format(
      "(pg_catalog.left(pg_catalog.pg_walfile_name(pg_catalog.pg_current_wal_insert_lsn()), 8) "
      "OPERATOR(pg_catalog.=) '{:08X}' AND (extract(epoch FROM "
      "pg_catalog.pg_postmaster_start_time()) OPERATOR(pg_catalog.*) 1000000)::pg_catalog.int8 "
      "OPERATOR(pg_catalog.=) {} AND EXISTS (SELECT 1 FROM pg_catalog.pg_replication_slots s "
      "WHERE s.slot_name OPERATOR(pg_catalog.=) {} AND s.active_pid OPERATOR(pg_catalog.=) {}) AND "
      "{}::pg_catalog.numeric OPERATOR(pg_catalog.<=) pg_catalog.pg_snapshot_xmax("
      "pg_catalog.pg_current_snapshot())::pg_catalog.text::pg_catalog.numeric)",
      proof.timeline, proof.server_started.time_since_epoch().count(), QuoteLiteral(proof.slot),
      proof.backend_pid, proof.xids.before);
}

}  // namespace walrelay
