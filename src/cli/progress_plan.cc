#include "cli/progress_plan.h"

#include <fmt/format.h>

#include <tuple>

#include "stream/progress_record.h"
#include "stream/start_position.h"
#include "walrelay/config/source.h"
#include "walrelay/error.h"

namespace walrelay {
namespace {

// A running relay would overwrite the record, or publish what the record says is published.
absl::Status CheckSlotIsIdle(const ProgressPlanInput& input) {
  WR_RETURN_IF_ERROR(DecideStart(std::nullopt, input.info).status());
  if (input.info.slot->active) {
    return Error(ErrorCode::kSlotBusy,
                 fmt::format("process {} of the server reads slot {}", input.info.slot->active_pid,
                             input.source.slot),
                 "Stop the relay, on every host, and run the command again.");
  }
  return absl::OkStatus();
}

// Readers use the version of the record with the greatest Order(). A new one that is not greater
// needs the next generation, and so does one that replaces a gap that is held.
uint64_t GenerationAfter(const Progress& old, const Progress& record) {
  const bool later =
      record.system_id == old.system_id &&
      std::tuple(record.timeline, record.frontier) > std::tuple(old.timeline, old.frontier);
  return later && !old.held ? old.generation : old.generation + 1;
}

absl::Status CheckFrontier(const SourceInfo& info, Lsn frontier) {
  if (frontier < info.slot->confirmed_flush_lsn) {
    return Error(
        ErrorCode::kUsage,
        fmt::format("--lsn {} is before the slot's confirmed position {}", frontier.ToString(),
                    info.slot->confirmed_flush_lsn.ToString()),
        "The slot cannot move backwards: the relay would hold with WR-2106. Choose a later "
        "position, or use --force.");
  }
  if (frontier > info.server.wal_end) {
    return Error(ErrorCode::kUsage,
                 fmt::format("--lsn {} is beyond the end of the WAL, {}", frontier.ToString(),
                             info.server.wal_end.ToString()),
                 "The relay would hold with WR-2202, because the server lacks WAL that counts as "
                 "published. Choose an earlier position, or use --force.");
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<Progress> PlanProgressInit(const ProgressPlanInput& input) {
  if (input.record && !input.force) {
    return Error(ErrorCode::kUsage,
                 fmt::format("there is a record of pipeline \"{}\", with frontier {}",
                             input.record->pipeline, input.record->frontier.ToString()),
                 "Nothing needs to be written: the relay continues from it. walrelay progress show "
                 "prints it; --force replaces it by one at the slot's confirmed position.");
  }
  WR_RETURN_IF_ERROR(CheckSlotIsIdle(input));
  Progress record = ProgressFrom(input.source, input.pipeline, input.info);
  record.generation = input.record ? input.record->generation + 1 : 0;
  return record;
}

absl::StatusOr<Progress> PlanProgressSet(const ProgressPlanInput& input, Lsn frontier) {
  if (input.record && !input.force) {
    WR_RETURN_IF_ERROR(CheckOwner(*input.record, input.source, input.pipeline, input.info.server));
    WR_RETURN_IF_ERROR(CheckUnused(*input.record, input.info.server, /*run_id=*/""));
  }
  WR_RETURN_IF_ERROR(CheckSlotIsIdle(input));
  if (!input.force) {
    WR_RETURN_IF_ERROR(CheckFrontier(input.info, frontier));
  }
  Progress record = ProgressFrom(input.source, input.pipeline, input.info);
  record.frontier = record.settled_before = frontier;
  record.generation = input.record ? GenerationAfter(*input.record, record) : 0;
  return record;
}

}  // namespace walrelay
