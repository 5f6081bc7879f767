#include "postgres/slot_error.h"

#include "postgres/catalog_queries.h"
#include "stream/slot_loss.h"
#include "walrelay/error.h"

namespace walrelay {

absl::Status WithCauseAtSlot(PgConnection& connection, std::string_view slot,
                             const absl::Status& error, Micros timeout) {
  const std::string state = connection.last_sqlstate();
  const bool undefined = state == "42704";  // undefined_object
  if (!undefined && state != "55000") {     // object_not_in_prerequisite_state
    return error;
  }
  // Only now: reading the slot costs a query, and the error is rare.
  const auto found = ReadSlotInfo(connection, slot, timeout);
  if (!found.ok()) {
    return error;
  }
  if (undefined && !*found) {
    return Error(ErrorCode::kSlotMissing, MessageOf(error));
  }
  if (*found && (*found)->lost()) {
    return SlotLostError(**found, MessageOf(error));
  }
  const auto wal_level = ReadSetting(connection, "wal_level", timeout);
  if (wal_level.ok() && *wal_level != "logical") {
    return Error(ErrorCode::kWalLevel, MessageOf(error));
  }
  return error;
}

}  // namespace walrelay
