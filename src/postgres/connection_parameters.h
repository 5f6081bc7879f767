// Connection parameters: the operator's DSN and the parameters that walrelay adds.
//
// walrelay adds the application name, UTF-8, the settings of the session contract
// (session_settings.h) and timeouts that detect a dead peer, and disables GSS encryption.
// Parameters in the DSN, in a service file and in variables take precedence, except over the
// settings of the session contract. libpq completes them, so that what is checked here is what it
// uses.
//
// Source: Postgres documentation, "Database Connection Control Functions".
#pragma once

#include <libpq-fe.h>

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "walrelay/pipeline_identity.h"
#include "walrelay/secret.h"

namespace walrelay {

struct SourceConfig;

struct ConninfoDeleter {
  void operator()(PQconninfoOption* options) const { PQconninfoFree(options); }
};
// Parameters of a connection, as libpq knows them; with the passwords.
using ConninfoOptions = std::unique_ptr<PQconninfoOption, ConninfoDeleter>;

using ConnectionParameters = std::vector<std::pair<std::string, std::string>>;

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

// Formats what the DSN leads to as "host:port/database as user" for messages, without the password.
// "?" for an invalid DSN.
std::string DescribeDsn(const SourceConfig& source);

// The same for the DSN alone, without what libpq adds: equal in every process that has the same
// configuration, whatever its user and its variables are.
std::string DescribeDsnAlone(const SourceConfig& source);

// The database that a DSN leads to, as libpq completes it from a service file, variables and
// defaults: of a DSN without a database's name, that of the user.
struct DatabaseAddress {
  std::string server;  // "host:port"; of several hosts and ports, all
  std::string database;

  friend auto operator<=>(const DatabaseAddress&, const DatabaseAddress&) = default;
};
// Errors: WR-1003 for an invalid DSN or an unknown service.
absl::StatusOr<DatabaseAddress> DatabaseAddressOf(const SourceConfig& source);

// Whether IdentityOf() has a source name that source.name could have, or brackets for an IPv6
// address. Errors: WR-1003, which does not repeat the name.
absl::Status CheckSourceName(const SourceConfig& source);

// The identity of the pipeline that reads `source`: source.name, or "host/database" of the DSN, and
// the slot. Contains no user name and no password, except that a database without a name is called
// like the user, as libpq does.
//
// If the DSN has several hosts, which are one cluster, the first is used; ":port" follows unless it
// is 5432. A Unix socket and a loopback address are named after this machine: "localhost" would be
// the same name on each machine, and an alert would take a healthy database there for this one. The
// file of a service is not read: its name stands for the host. "?" for an invalid DSN.
PipelineIdentity IdentityOf(const SourceConfig& source);

}  // namespace walrelay
