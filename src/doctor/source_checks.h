// What the start of a stream is decided by: server, publication, tables, slot.
#pragma once

#include "absl/status/status.h"
#include "doctor/findings.h"
#include "postgres/connection.h"
#include "walrelay/config.h"

namespace walrelay {

// REQUIRES: a replication connection. An error is one of asking; what was found is in `out`.
absl::Status CheckSource(PgConnection& connection, const Config& config, Depth depth,
                         Findings& out);

// A refused connection, with the role, database and line of pg_hba.conf by name where that is what
// is missing.
absl::Status WithExactRemedy(const absl::Status& error, const SourceConfig& source);

}  // namespace walrelay
