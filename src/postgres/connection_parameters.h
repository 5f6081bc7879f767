// What a connection is made with: the operator's DSN, and what walrelay adds to it.
//
// Added: the application name, UTF-8, the output formats that the router relies on, timeouts that
// notice a dead peer, and no GSS encryption attempt. What the DSN says itself stays, except for
// those formats.
//
// Source: Postgres documentation, "Database Connection Control Functions".
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "walrelay/config.h"

namespace walrelay {

using ConnectionParameters = std::vector<std::pair<std::string, std::string>>;

enum class ConnectionPurpose {
  kReplication,  // a walsender: replication=database
  kSql,
};

// Reads the password's file, so that each connection has the present one. Errors: WR-1003 for a DSN
// that libpq does not understand, WR-1005 for the file.
absl::StatusOr<ConnectionParameters> MakeConnectionParameters(const SourceConfig& source,
                                                              ConnectionPurpose purpose);

// Refuses what would cross the network without verified TLS. A Unix socket and loopback are no
// network. Errors: WR-1006, WR-1003.
absl::Status CheckPostgresTransport(const SourceConfig& source);

// "host:port/database as user" of the DSN, for messages; never the password.
std::string DescribeDsn(const SourceConfig& source);

}  // namespace walrelay
