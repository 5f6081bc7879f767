// Decides which record `walrelay progress init` and `set` write, and when they refuse.
//
// Pure functions. The results lack what only the writer knows: run, number and time of writing.
#pragma once

#include <cstdint>
#include <optional>

#include "absl/status/statusor.h"
#include "walrelay/lsn.h"
#include "walrelay/progress.h"
#include "walrelay/replication_source.h"

namespace walrelay {

struct PipelineConfig;
struct SourceConfig;

// `record`: the one in the topic; nullopt: none. `force`: as the flag.
struct ProgressPlanInput {
  const SourceConfig& source;
  const PipelineConfig& pipeline;
  const SourceInfo& info;
  const std::optional<Progress>& record;
  bool force = false;
};

// A record at the slot's confirmed position. Errors: WR-5005 if there is a record, without `force`;
// those of a slot that the relay could not read either: WR-2010, WR-2101 to WR-2105.
absl::StatusOr<Progress> PlanProgressInit(const ProgressPlanInput& input);

// A record at `frontier`. Errors: those of the slot as above; without `force`, WR-2205 for the
// record of another pipeline, and WR-5005 for a position before the slot's confirmed position or
// beyond the end of the WAL.
absl::StatusOr<Progress> PlanProgressSet(const ProgressPlanInput& input, Lsn frontier);

}  // namespace walrelay
