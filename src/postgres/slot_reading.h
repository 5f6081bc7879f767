// Asks a server how a slot stands: one cheap query, and a second one only when the slot holds much
// more log than it lags.
//
// On any connection, with no privilege beyond LOGIN REPLICATION; takes the columns that the
// server's version has (Postgres 13 to 18).
#pragma once

#include "absl/status/statusor.h"
#include "postgres/connection.h"
#include "walrelay/config.h"
#include "walrelay/slot_sample.h"

namespace walrelay {

// What one look can tell, and the limit that is configured; the rest keeps its default. `exists` is
// false when there is no such slot.
absl::StatusOr<SlotSample> ReadSlotSample(PgConnection& connection, const SourceConfig& source,
                                          Micros timeout);

}  // namespace walrelay
