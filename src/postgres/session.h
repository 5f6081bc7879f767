// Sessions: connections to Postgres with the settings of the session contract
// (session_settings.def). Every command connects only with these functions.
//
// Blocks like PgConnection, for at most `timeout`, however many hosts the DSN names.
#pragma once

#include <optional>

#include "absl/status/statusor.h"
#include "postgres/connection.h"
#include "postgres/connection_parameters.h"

namespace walrelay {

struct SourceConfig;

// The maximum time for all steps of one call to Postgres: well below the 90 s after which /livez
// reports a failure.
inline constexpr Micros kOpenTimeout = std::chrono::seconds(25);

// How a connection is made.
struct SessionOptions {
  ConnectionPurpose purpose = ConnectionPurpose::kSql;
  Micros timeout = kOpenTimeout;
  int interrupt_fd = -1;       // see PgConnection
  std::optional<size_t> host;  // index in the DSN's list: only this host, primary or not
};

// `host`: pass it as SessionOptions::host to connect to the same server again.
struct OpenedSession {
  PgConnection connection;
  size_t host = 0;  // index in the DSN's list
};

// Connects to the first host of the DSN that accepts the connection and, if there are several and
// target_session_attrs is not set, is a primary. Each host gets an equal share of the timeout, but
// at most source.connect_timeout.
//
// After a refused login (WR-2002) the same login is not tried again for a second, then for two, up
// to 30 seconds, by no connection of the process: the error is repeated instead.
//
// Runs source.password_command first. Errors: WR-1003, WR-1005 and WR-2016 of the parameters,
// WR-2015 of the command, errors of connecting, WR-2010 (InRecovery) if only standbys answer,
// WR-2013 (SessionSetting) if a setting does not have the requested value.
absl::StatusOr<OpenedSession> OpenSession(const SourceConfig& source,
                                          const SessionOptions& options);

// The same for commands, which do not need the host and cannot be interrupted.
absl::StatusOr<PgConnection> ConnectTo(const SourceConfig& source,
                                       ConnectionPurpose purpose = ConnectionPurpose::kSql);

}  // namespace walrelay
