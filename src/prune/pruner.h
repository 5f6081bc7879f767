// Pruner: goes over the rows of the outbox tables once, and deletes or marks those that are proven
// to be published and old enough, or counts them.
//
// Each batch is a statement and a transaction of its own: what was done before an error, or before
// a crash, remains. It waits for no lock for longer than a moment, and for as long as the rate
// requires after each batch.
//
// Not thread-safe: of one connection.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "absl/status/statusor.h"
#include "postgres/connection.h"
#include "prune/prune_query.h"
#include "prune/prune_status.h"
#include "walrelay/clock.h"

namespace walrelay {

struct PruneConfig;
struct SourceConfig;

class Pruner {
 public:
  // Called after each batch with the rows that it pruned, and how long to wait. False: the pass
  // ends.
  using Pace = std::function<bool(uint64_t pruned, Micros pause)>;

  // The references must outlive it.
  Pruner(PgConnection& connection, const SourceConfig& source, const PruneConfig& prune,
         PruneAction action, Pace pace)
      : connection_(connection),
        source_(source),
        prune_(prune),
        action_(action),
        pace_(std::move(pace)) {}

  // The tables whose rows it goes over. Errors: WR-2302, WR-2321, WR-2322, those of
  // PgConnection::Query().
  absl::StatusOr<std::vector<PruneTable>> FindTables();

  // REQUIRES: a session that may write (ConnectionPurpose::kSetup), to the system of the proof.
  // False: it did not reach the end, because of the pace or because the server is not the one of
  // the proof any more. Adds to `count`, also before an error. Errors: those of FindTables().
  absl::StatusOr<bool> Run(const PruneProof& proof, PruneCount& count);

 private:
  absl::StatusOr<bool> PruneTableRows(const PruneTable& table, const PruneProof& proof,
                                      PruneCount& count);

  PgConnection& connection_;
  const SourceConfig& source_;
  const PruneConfig& prune_;
  PruneAction action_;
  Pace pace_;
};

}  // namespace walrelay
