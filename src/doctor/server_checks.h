// Checks of the Postgres server's settings and capacity, and of sources of latency.
#pragma once

#include "absl/status/status.h"
#include "findings/findings.h"
#include "postgres/connection.h"

namespace walrelay {

struct SourceConfig;

// All on an ordinary connection, with no privilege beyond LOGIN REPLICATION. An error is a failed
// query; the findings are in `out`.

// Settings that walrelay requires, or that endanger the server.
// Adds findings only for settings that need attention. WR-2008 is the finding for wal_level below
// logical.
// Source: Postgres documentation, "Replication" (max_slot_wal_keep_size, wal_sender_timeout,
// idle_replication_slot_timeout).
absl::Status CheckServerSettings(PgConnection& connection, const SourceConfig& source,
                                 Findings& out);

// Free walsenders and connections, TLS, version, clock, network.
// The round trip is the best of three; the clocks are compared at the middle of that round trip.
// The connection limit is that of `connection`'s role.
absl::Status CheckServerAndNetwork(PgConnection& connection, const SourceConfig& source,
                                   Findings& out);

// Where commits reach the WAL late: synchronous_commit = off.
// Finds the settings of the server, of roles and of databases; a session that sets the option
// itself is not visible.
absl::Status CheckLatency(PgConnection& connection, const SourceConfig& source, Findings& out);

}  // namespace walrelay
