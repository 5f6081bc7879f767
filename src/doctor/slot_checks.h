// Checks of the slot: the WAL it retains, its reader, transactions that hold it back, failover.
#pragma once

#include "absl/status/status.h"
#include "findings/findings.h"
#include "postgres/connection.h"

namespace walrelay {

struct SourceConfig;

// On an ordinary connection; takes a second to measure how fast the WAL grows. An error is a failed
// query; the findings are in `out`.
// Adds nothing if the slot does not exist: slot.usable has reported it (CheckSource()). The reader
// of the slot is identified by its application_name, "walrelay". The forecast assumes that the
// confirmed position does not advance.
absl::Status CheckSlot(PgConnection& connection, const SourceConfig& source, Findings& out);

// Whether the publication and the memberships of the outbox tables are older than the position of
// the slot, as far as catalog_xmin shows it. On an ordinary connection.
absl::Status CheckAges(PgConnection& connection, const SourceConfig& source, Findings& out);

}  // namespace walrelay
