// What a connection is made with: the operator's DSN, and what walrelay adds to it.
//
// Added: the application name, UTF-8, the settings of the session contract (session_settings.h),
// timeouts that notice a dead peer, and no GSS encryption attempt. What the DSN says itself stays,
// except for those settings.
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
  kSql,          // an ordinary connection that only reads
  kSetup,        // an ordinary connection that changes the database
};

// Reads the password's file, so that each connection has the present one. Errors: WR-1003 for a DSN
// that libpq does not understand, WR-1005 for the file.
absl::StatusOr<ConnectionParameters> MakeConnectionParameters(const SourceConfig& source,
                                                              ConnectionPurpose purpose);

// One for each host of the list in `parameters`, in its order; at least one. libpq would try them
// one after the other, but without a time limit of its own when it connects asynchronously: one
// dead address would use up all the time. So each host is an attempt of ours.
std::vector<ConnectionParameters> EachHost(const ConnectionParameters& parameters);

// Whether a standby will do: the DSN, or the environment, says so by target_session_attrs, or names
// one host only.
bool AcceptsStandby(const ConnectionParameters& parameters);

// Refuses what would cross the network without verified TLS. A Unix socket and loopback are no
// network. Errors: WR-1006, WR-1003.
absl::Status CheckPostgresTransport(const SourceConfig& source);

// "host:port/database as user" of the DSN, for messages; never the password.
std::string DescribeDsn(const SourceConfig& source);

}  // namespace walrelay
