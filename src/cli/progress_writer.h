// Writes a progress record from a command: reads the source and the record that exists, lets a plan
// decide, and writes what it says.
//
// Each function connects to Postgres and Kafka with the logins of the configuration, and blocks.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "cli/progress_plan.h"
#include "walrelay/progress.h"

namespace walrelay {

struct Config;

// Where the record is. The server is asked only if that depends on it, that is without pipeline.id:
// the record can otherwise be shown while Postgres is down. Errors: WR-1003, those of a connection.
absl::StatusOr<ProgressAddress> ProgressAddressFor(const Config& config);

struct WrittenProgress {
  std::string topic;
  Progress record;
};

// A record ahead of the slot names no transaction that could prove it, so the slot is advanced to
// the record's frontier as well, if the server has that WAL. Errors: those of a connection, of the
// topic, and of the plan; when the slot cannot be advanced, the record is written already.
absl::StatusOr<WrittenProgress> WritePlannedProgress(
    const Config& config, bool force,
    const std::function<absl::StatusOr<Progress>(const ProgressPlanInput&)>& plan);

// Writes `record` as the first one of a new run, whose id, number and time are set here; returns
// what was written. Errors: those of ProgressTopic::Write(). REQUIRES: `topic` has read the
// address.
absl::StatusOr<Progress> WriteAsNewRun(ProgressTopic& topic, const ProgressAddress& address,
                                       Progress record);

}  // namespace walrelay
