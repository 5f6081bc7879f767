// The operator's DSN: a libpq connection string, as libpq parses and completes it.
//
// libpq adds the parameters of a service file, those of variables, and its defaults, so that what
// is checked and shown here is what it uses. Nothing here connects to a server, or resolves the
// name of a host.
//
// Source: Postgres documentation, "Database Connection Control Functions".
#pragma once

#include <libpq-fe.h>

#include <compare>
#include <cstddef>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"

namespace walrelay {

struct SourceConfig;

struct ConninfoDeleter {
  void operator()(PQconninfoOption* options) const { PQconninfoFree(options); }
};
// Parameters of a connection, as libpq knows them; with the passwords.
using ConninfoOptions = std::unique_ptr<PQconninfoOption, ConninfoDeleter>;

using ConnectionParameters = std::vector<std::pair<std::string, std::string>>;

// The value of a parameter; nullptr: it is absent. The result points into `parameters`.
const std::string* FindParameter(const ConnectionParameters& parameters, std::string_view key);
// The same; "" if it is absent.
std::string_view ParameterOf(const ConnectionParameters& parameters, std::string_view key);

// The entry at `index` of a comma-separated list, such as that of the hosts; "" if there is none.
std::string_view ListEntry(std::string_view list, size_t index);

// Whether a host is this machine: a Unix socket, or a loopback address.
bool IsLocalHost(std::string_view host);

// The parameters in the DSN itself; a parameter with an empty value is absent. `option`: the option
// that has the DSN, for messages, which never quote the DSN. Errors: WR-1003 for an invalid DSN.
absl::StatusOr<ConnectionParameters> ParseDsn(const std::string& dsn,
                                              std::string_view option = "source.dsn");

// The parameters of a connection, completed by libpq.
struct CompletedDsn {
  ConnectionParameters parameters;
  // Those that are in the DSN, in a service file or in a variable; the others are libpq's defaults.
  // A service file that sets a default's value is not noticed.
  std::set<std::string, std::less<>> chosen;
};
// REQUIRES: `own` is the result of ParseDsn(). Errors: WR-1003, such as for an unknown service.
absl::StatusOr<CompletedDsn> CompleteDsn(const ConnectionParameters& own,
                                         std::string_view option = "source.dsn");

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

}  // namespace walrelay
