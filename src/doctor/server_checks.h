// Checks of the Postgres server's settings and capacity, and of sources of latency.
#pragma once

#include "absl/status/status.h"
#include "doctor/findings.h"
#include "postgres/connection.h"
#include "walrelay/config.h"

namespace walrelay {

// All on an ordinary connection, with no privilege beyond LOGIN REPLICATION. An error is a failed
// query; the findings are in `out`.

// Settings that walrelay requires, or that endanger the server.
absl::Status CheckServerSettings(PgConnection& connection, const Config& config, Findings& out);

// Free walsenders and connections, TLS, version, clock, network.
absl::Status CheckServerAndNetwork(PgConnection& connection, const Config& config, Findings& out);

// Where commits reach the WAL late: synchronous_commit = off.
absl::Status CheckLatency(PgConnection& connection, const Config& config, Findings& out);

}  // namespace walrelay
