// DryRun: hands the records that the relay would publish to a sink other than Kafka's.
//
// Uses the relay's pipeline from message to record. Postgres is only read: the slot is not advanced
// and may be in use (postgres/temporary_slot.h), and nothing is confirmed.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "walrelay/sink.h"

namespace walrelay {

struct Config;

// The events that a dry run covers. The command line and VerifyCommand() guarantee that `ids` and
// `follow` exclude each other; with both, `ids` applies.
struct DryRunScope {
  bool follow = false;  // events committed from now on; else from the slot's position
  // Compared as text with the id column. An id without a row is not an error: compare the result
  // with the number of ids.
  std::vector<std::string> ids;  // these rows of the tables instead
  uint64_t limit = 0;            // 0: no limit; with `follow`, endless
  // Ends the run when it returns true. Called after each batch of messages. May be empty.
  // Not called for `ids`.
  std::function<bool()> stop_condition;
};

// `sink` must accept every record and report it as delivered at its next Poll(). Blocks;
// returns the number of records. Errors are those that the relay would report.
// Without `follow`, ends at the end of the WAL or at `limit`. Polls Postgres every 200 ms while
// nothing arrives. Rows that are read by their id have the current time as their commit time,
// unless the server records commit times. A row that would block the relay ends the run with its
// error (WR-3xxx); a publication that hides rows is WR-23xx. A role without SELECT on the table
// gets WR-2012 with the exact GRANT, but only for `ids`: the slot needs no table privilege.
absl::StatusOr<uint64_t> DryRun(const Config& config, const DryRunScope& scope, Sink& producer);

}  // namespace walrelay
