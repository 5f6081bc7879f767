// When a commit becomes visible: synchronous standbys, and source.wait_visible.
#pragma once

#include "absl/status/status.h"
#include "findings/findings.h"
#include "postgres/connection.h"

namespace walrelay {

struct SourceConfig;

// On an ordinary connection with the relay's parameters. An error is a failed query; the findings
// are in `out`.
// REQUIRES: `connection` has the relay's application_name, by which Postgres selects synchronous
// standbys. Without source.wait_visible free connections are not counted.
// Source: Postgres documentation, synchronous_standby_names; src/backend/replication/syncrep.c.
absl::Status CheckVisibility(PgConnection& connection, const SourceConfig& source, Findings& out);

}  // namespace walrelay
