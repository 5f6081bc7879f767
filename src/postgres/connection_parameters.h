// Connection parameters: those of the operator's DSN, and the parameters that walrelay adds.
//
// walrelay adds the application name, UTF-8, the settings of the session contract
// (session_settings.h) and timeouts that detect a dead peer, and disables GSS encryption.
// Parameters in the DSN, in a service file and in variables take precedence, except over the
// settings of the session contract (dsn.h).
//
// Source: Postgres documentation, "Database Connection Control Functions".
#pragma once

#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "postgres/dsn.h"
#include "walrelay/secret.h"

namespace walrelay {

struct SourceConfig;

// The purpose of a connection. It decides which settings of the session contract apply.
enum class ConnectionPurpose {
  kReplication,  // a walsender connection: replication=database
  kSql,          // an ordinary connection that only reads
  kSetup,        // an ordinary connection that changes the database
};

// The requirements of a connection.
enum class Transport {
  kVerified,  // TLS with a verified server; or the server runs on this host
  kAny,       // source.allow_insecure
};
Transport TransportOf(const SourceConfig& source);

// The parameters of every login: no connection is opened without them. They include those of the
// service file, the variables and the defaults. Refuses a connection over a network without
// verified TLS, unless source.allow_insecure is set; Unix sockets and loopback do not count as a
// network.
//
// `option`: the option that has the DSN, for messages. Reads the password file, so that each
// connection uses the current password. The password of source.password_command is not part of the
// result: see SetPassword(). Errors: WR-1003 for an invalid DSN or an unknown service, WR-1005 for
// the file, WR-1006.
absl::StatusOr<ConnectionParameters> MakeConnectionParameters(
    const SourceConfig& source, ConnectionPurpose purpose, std::string_view option = "source.dsn");

// Replaces the password.
void SetPassword(ConnectionParameters& parameters, const Secret& password);

// Returns the parameters for each host of the list in `parameters`, in the same order; at least
// one. libpq would try the hosts one after the other, but without a timeout per host when it
// connects asynchronously: one dead address would use up all the time. walrelay therefore connects
// to each host separately.
std::vector<ConnectionParameters> EachHost(const ConnectionParameters& parameters);

// Whether a standby is accepted: if target_session_attrs is set, or there is only one host.
bool AcceptsStandby(const ConnectionParameters& parameters);

// Checks, for the parameters of one host, that the file with the certificate authorities can be
// read if the server's certificate must be verified. libpq notices a missing file only after the
// server has answered. Unix sockets have no TLS. Errors: WR-2016; what to write in the DSN is in
// its hint. Source: Postgres documentation, "Client Verification of Server Certificates".
// REQUIRES: `parameters` are of MakeConnectionParameters().
absl::Status CheckRootCertificate(const ConnectionParameters& parameters);

}  // namespace walrelay
