// What the slot costs, who holds it, who holds its log back, and whether a failover would lose it.
#pragma once

#include "absl/status/status.h"
#include "doctor/findings.h"
#include "postgres/connection.h"
#include "walrelay/config.h"

namespace walrelay {

// On an ordinary connection; takes a second, in which it sees how fast the log grows. An error is
// one of asking; what was found is in `out`.
absl::Status CheckSlot(PgConnection& connection, const Config& config, Findings& out);

}  // namespace walrelay
