#include "stream/slot_loss.h"

#include <fmt/format.h>

#include "walrelay/error.h"

namespace walrelay {
namespace {

// Source: SlotInvalidationCauses in src/backend/replication/slot.c, Postgres 17 and 18. A server
// before 17 gives no reason, and invalidates slots for their WAL only.
std::string_view PreventionOf(std::string_view reason) {
  if (reason == "idle_timeout") {
    return "No process had read the slot for idle_replication_slot_timeout. So that it does not "
           "happen again: ALTER SYSTEM SET idle_replication_slot_timeout = 0; SELECT "
           "pg_reload_conf();";
  }
  if (reason == "rows_removed") {
    return "Vacuum has removed catalog rows that decoding needs. So that it does not happen again: "
           "hot_standby_feedback = on on the server that had the slot.";
  }
  if (reason == "wal_level_insufficient") {
    return "wal_level was below logical. So that it does not happen again: ALTER SYSTEM SET "
           "wal_level = 'logical';";
  }
  return reason.empty() || reason == "wal_removed" ? "Consider a larger max_slot_wal_keep_size."
                                                   : "";
}

}  // namespace

absl::Status SlotLostError(const SlotInfo& slot, std::string_view text) {
  const std::string_view prevention = PreventionOf(slot.invalidation_reason);
  return Error(
      ErrorCode::kSlotLost, text,
      fmt::format("Stop every job that deletes rows from the outbox table. walrelay recover "
                  "shows which rows are not published; walrelay recover --apply PLAN "
                  "publishes them and replaces the slot.{}{}",
                  prevention.empty() ? "" : " ", prevention));
}

}  // namespace walrelay
