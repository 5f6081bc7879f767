// Sessions: connections to Postgres that have the settings of the session contract
// (session_settings.def). Every command connects by these functions alone.
//
// Blocks as PgConnection does, for `patience` at most, however many hosts the DSN names.
#pragma once

#include <optional>

#include "absl/status/statusor.h"
#include "postgres/connection.h"
#include "postgres/connection_parameters.h"
#include "walrelay/config.h"

namespace walrelay {

// What the relay waits at most for all steps of one call to Postgres: well below the 90 s after
// which /livez calls the process dead.
inline constexpr Micros kOpenPatience = std::chrono::seconds(25);

struct SessionOptions {
  ConnectionPurpose purpose = ConnectionPurpose::kSql;
  Micros patience = kOpenPatience;
  int interrupt_fd = -1;       // see PgConnection
  std::optional<size_t> host;  // of the DSN's list, from 0: this one and no other, primary or not
};

struct OpenedSession {
  PgConnection connection;
  size_t host = 0;  // of the DSN's list
};

// Connects to the first host of the DSN that accepts the connection and, where there are several
// and target_session_attrs does not say otherwise, is a primary. Each host gets its share of the
// patience, and source.connect_timeout at most.
//
// Errors: WR-1003 and WR-1005 of the parameters, those of connecting, WR-2010 (InRecovery) when
// only standbys answer, WR-2013 (SessionSetting) when a setting is not the one that was requested.
absl::StatusOr<OpenedSession> OpenSession(const SourceConfig& source,
                                          const SessionOptions& options);

// The same, for commands: which host it is does not matter, and nothing interrupts it.
absl::StatusOr<PgConnection> ConnectTo(const SourceConfig& source,
                                       ConnectionPurpose purpose = ConnectionPurpose::kSql);

}  // namespace walrelay
