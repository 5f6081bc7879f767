// The Postgres server's settings and capacity, and where latency comes from.
#pragma once

#include "absl/status/status.h"
#include "doctor/findings.h"
#include "postgres/connection.h"
#include "walrelay/config.h"

namespace walrelay {

// All on an ordinary connection, with no privilege beyond LOGIN REPLICATION. An error is one of
// asking; what was found is in `out`.

// Settings without which nothing works, or which endanger the server.
absl::Status CheckServerSettings(PgConnection& connection, const Config& config, Findings& out);

// Room for another walsender and connection, TLS, version, time, network.
absl::Status CheckServerAndNetwork(PgConnection& connection, const Config& config, Findings& out);

// Whose commits reach the log late: synchronous_commit = off.
absl::Status CheckLatency(PgConnection& connection, const Config& config, Findings& out);

}  // namespace walrelay
