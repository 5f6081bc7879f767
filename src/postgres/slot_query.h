// Reads the state of a slot: one cheap query, and a second one only if the slot retains much more
// WAL than its lag.
//
// Works on any connection, needs no privilege beyond LOGIN REPLICATION, and handles the columns of
// each supported server version (Postgres 13 to 18).
#pragma once

#include <vector>

#include "absl/status/statusor.h"
#include "postgres/connection.h"
#include "slot/slot_sample.h"

namespace walrelay {

struct SourceConfig;

// The slots of synchronized_standby_slots that a walsender waits for before it sends WAL up to
// `position`. Empty before Postgres 17.
absl::StatusOr<std::vector<AwaitedStandby>> ReadAwaitedStandbys(PgConnection& connection,
                                                                Lsn position, Micros timeout);

// Sets the fields that one query provides, and the configured limit; the other fields keep their
// defaults. `exists` is false if there is no such slot.
// Not computed here: ages, rates, forecasts and the risk (SlotSampler). Each query blocks for at
// most `timeout`. `taken` is by the server's clock.
absl::StatusOr<SlotSample> ReadSlotSample(PgConnection& connection, const SourceConfig& source,
                                          Micros timeout);

}  // namespace walrelay
