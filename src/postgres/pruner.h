// Pruner: one pass over the outbox tables that deletes or marks the rows that are proven to be
// published and old enough.
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
#include "postgres/prune_query.h"
#include "walrelay/clock.h"
#include "walrelay/config.h"

namespace walrelay {

// Rows.
struct PruneCount {
  uint64_t pruned = 0;
  uint64_t kept = 0;  // older than prune.keep; nothing proves that they are published
};

class Pruner {
 public:
  // Called after each batch with the rows that it pruned, and how long to wait. False: the pass
  // ends.
  using Pace = std::function<bool(uint64_t pruned, Micros pause)>;

  // The references must outlive it.
  Pruner(PgConnection& connection, const Config& config, Pace pace)
      : connection_(connection), config_(config), pace_(std::move(pace)) {}

  // REQUIRES: a session that may write (ConnectionPurpose::kSetup), to the system of the proof.
  // nullopt: the pass did not reach its end, because of the pace or because the server is not the
  // one of the proof any more. Errors: WR-2302, WR-2321, WR-2322, those of PgConnection::Query().
  absl::StatusOr<std::optional<PruneCount>> Run(const PruneProof& proof);

 private:
  absl::StatusOr<std::vector<PruneTable>> FindTables();
  absl::StatusOr<bool> PruneTableRows(const PruneTable& table, const PruneProof& proof,
                                      PruneCount& count);

  PgConnection& connection_;
  const Config& config_;
  Pace pace_;
};

}  // namespace walrelay
