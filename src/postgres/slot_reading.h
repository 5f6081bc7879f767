// Asks a server how a slot stands: one cheap query, and a second one only when the slot holds much
// more log than it lags.
//
// On any connection, with no privilege beyond LOGIN REPLICATION; takes the columns that the
// server's version has (Postgres 13 to 18).
#pragma once

#include <string_view>

#include "absl/status/statusor.h"
#include "postgres/connection.h"
#include "walrelay/slot_sample.h"

namespace walrelay {

// What one look can tell; the rest keeps its default. `exists` is false when there is no such slot.
absl::StatusOr<SlotSample> ReadSlotSample(PgConnection& connection, std::string_view slot,
                                          Micros timeout);

}  // namespace walrelay
