#include "postgres/connection_parameters.h"

#include <fmt/format.h>
#include <libpq-fe.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <memory>

#include "base/loopback.h"
#include "base/secret_file.h"
#include "postgres/session_settings.h"
#include "walrelay/error.h"

namespace walrelay {
namespace {

struct OptionsDeleter {
  void operator()(PQconninfoOption* options) const { PQconninfoFree(options); }
};

// The list is short, and its order does not matter to libpq.
const std::string* Find(const ConnectionParameters& parameters, std::string_view key) {
  const auto found = std::find_if(parameters.begin(), parameters.end(),
                                  [&](const auto& parameter) { return parameter.first == key; });
  return found == parameters.end() ? nullptr : &found->second;
}

void Set(ConnectionParameters& parameters, std::string_view key, std::string value) {
  std::erase_if(parameters, [&](const auto& parameter) { return parameter.first == key; });
  parameters.emplace_back(key, std::move(value));
}

// Only if the operator has not set it. Set() replaces also an operator's value.
void SetDefault(ConnectionParameters& parameters, std::string_view key, std::string value) {
  if (Find(parameters, key) == nullptr) {
    parameters.emplace_back(key, std::move(value));
  }
}

// Names the usual mistakes without quoting the string, which may hold a password.
absl::Status InvalidDsn(std::string_view dsn) {
  constexpr std::string_view kForm =
      "Use the form postgresql://user@host:port/database or host=… dbname=… user=…";
  constexpr std::string_view kWhat = "source.dsn is not a valid libpq connection string";
  if (dsn.starts_with("jdbc:")) {
    return Error(ErrorCode::kConfigValue,
                 fmt::format("{}: it is a JDBC URL, drop \"jdbc:\"", kWhat), kForm);
  }
  if (dsn.find("${") != std::string_view::npos) {
    return Error(ErrorCode::kConfigValue,
                 fmt::format("{}: \"${{\" has no meaning in this file", kWhat),
                 "Set the variable WALRELAY_SOURCE__DSN in place of the key.");
  }
  const bool is_uri =
      dsn.find("://") == std::string_view::npos && dsn.find('=') == std::string_view::npos;
  return Error(
      ErrorCode::kConfigValue,
      is_uri ? fmt::format("{}: a URI begins with \"postgresql://\"", kWhat) : std::string(kWhat),
      kForm);
}

absl::StatusOr<ConnectionParameters> ParseDsn(const std::string& dsn) {
  char* message = nullptr;
  const std::unique_ptr<PQconninfoOption, OptionsDeleter> options(
      PQconninfoParse(dsn.c_str(), &message));
  if (options == nullptr) {
    // The message may quote the string, and with it a password.
    PQfreemem(message);
    return InvalidDsn(dsn);
  }
  ConnectionParameters parameters;
  for (const PQconninfoOption* option = options.get(); option->keyword != nullptr; ++option) {
    // An empty value counts as absent: libpq uses the environment or its default.
    if (option->val != nullptr && *option->val != '\0') {
      parameters.emplace_back(option->keyword, option->val);
    }
  }
  return parameters;
}

// As libpq does for the same parameters.
std::string ParameterOr(const ConnectionParameters& parameters, std::string_view key,
                        const char* variable) {
  if (const std::string* value = Find(parameters, key)) {
    return *value;
  }
  const char* fallback = std::getenv(variable);
  return fallback != nullptr ? fallback : "";
}

// An empty host is the default directory of Unix sockets; "@" begins an abstract one.
bool IsLocalHost(std::string_view host) {
  return host.empty() || host.starts_with('/') || host.starts_with('@') || IsLoopback(host);
}

// The entry at `index` of a comma-separated list, or "".
std::string_view EntryOf(std::string_view list, size_t index) {
  for (; index > 0; --index) {
    const size_t comma = list.find(',');
    list = comma == std::string_view::npos ? std::string_view() : list.substr(comma + 1);
  }
  return list.substr(0, list.find(','));
}

// Whether every host of the list is local.
bool IsLocal(const ConnectionParameters& parameters) {
  // The service file may name any host.
  if (!ParameterOr(parameters, "service", "PGSERVICE").empty()) {
    return false;
  }
  const std::string addresses = ParameterOr(parameters, "hostaddr", "PGHOSTADDR");
  const std::string hosts = ParameterOr(parameters, "host", "PGHOST");
  const auto commas = std::max(std::count(addresses.begin(), addresses.end(), ','),
                               std::count(hosts.begin(), hosts.end(), ','));
  for (size_t i = 0; i <= static_cast<size_t>(commas); ++i) {
    const std::string_view address = EntryOf(addresses, i);
    if (!IsLocalHost(address.empty() ? EntryOf(hosts, i) : address)) {
      return false;
    }
  }
  return true;
}

// Whether TLS does not apply to the one host of the list: libpq uses it on TCP only.
bool IsUnixSocket(const ConnectionParameters& parameters) {
  const std::string host = ParameterOr(parameters, "host", "PGHOST");
  return ParameterOr(parameters, "hostaddr", "PGHOSTADDR").empty() &&
         (host.empty() || host.starts_with('/') || host.starts_with('@'));
}

// Where libpq looks for the certificate authorities; "" if only libpq knows the home folder.
std::string RootCertificateFile(const ConnectionParameters& parameters) {
  std::string file = ParameterOr(parameters, "sslrootcert", "PGSSLROOTCERT");
  const char* home = std::getenv("HOME");
  return file.empty() && home != nullptr ? fmt::format("{}/.postgresql/root.crt", home) : file;
}

// The settings come last, so that they override the DSN and the role.
std::string OptionsParameter(const ConnectionParameters& parameters, const SourceConfig& source,
                             ConnectionPurpose purpose) {
  const std::string* own = Find(parameters, "options");
  std::string options = own != nullptr ? *own + " " : "";
  options += StartupSettings(purpose);
  if (purpose == ConnectionPurpose::kReplication && source.wal_sender_timeout.count() > 0) {
    options += fmt::format(" -c wal_sender_timeout={}ms", source.wal_sender_timeout.count() / 1000);
  }
  if (purpose == ConnectionPurpose::kReplication && source.decoding_memory > 0) {
    options += fmt::format(" -c logical_decoding_work_mem={}kB", source.decoding_memory / 1024);
  }
  return options;
}

std::string NameOfThisMachine() {
  // The last byte stays zero: gethostname() does not end a name that it truncates.
  std::array<char, 256> name{};
  return ::gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "localhost";
}

// "host" or "host:port", without the port 5432.
std::string ClusterName(const ConnectionParameters& parameters) {
  const std::string service = ParameterOr(parameters, "service", "PGSERVICE");
  const std::string hosts = ParameterOr(parameters, "host", "PGHOST");
  const std::string addresses = ParameterOr(parameters, "hostaddr", "PGHOSTADDR");
  const std::string ports = ParameterOr(parameters, "port", "PGPORT");
  std::string host(EntryOf(hosts, 0).empty() ? EntryOf(addresses, 0) : EntryOf(hosts, 0));
  if (host.empty() && !service.empty()) {
    return service;
  }
  if (IsLocalHost(host)) {
    host = NameOfThisMachine();
  } else if (host.find(':') != std::string::npos) {
    host = fmt::format("[{}]", host);
  }
  const std::string_view port = EntryOf(ports, 0);
  return port.empty() || port == "5432" ? host : fmt::format("{}:{}", host, port);
}

// As libpq: without a name the database is called like the user.
std::string DatabaseOf(const ConnectionParameters& parameters) {
  std::string database = ParameterOr(parameters, "dbname", "PGDATABASE");
  return database.empty() ? ParameterOr(parameters, "user", "PGUSER") : database;
}

std::string SourceName(const SourceConfig& source) {
  if (!source.name.empty()) {
    return source.name;
  }
  const auto parameters = ParseDsn(source.dsn);
  if (!parameters.ok()) {
    return "?";
  }
  const std::string database = DatabaseOf(*parameters);
  const std::string cluster = ClusterName(*parameters);
  return database.empty() ? cluster : fmt::format("{}/{}", cluster, database);
}

}  // namespace

std::vector<ConnectionParameters> EachHost(const ConnectionParameters& parameters) {
  std::vector<ConnectionParameters> out(1);
  for (const auto& [key, value] : parameters) {
    // libpq's rule: a single port applies to all hosts; otherwise the lists have the same length.
    const bool is_list = key == "host" || key == "hostaddr" || key == "port";
    const auto count =
        is_list ? static_cast<size_t>(std::count(value.begin(), value.end(), ',')) + 1 : 1;
    while (out.size() < count) {
      out.push_back(out.front());
    }
    for (size_t i = 0; i < out.size(); ++i) {
      out[i].emplace_back(key,
                          is_list ? std::string(EntryOf(value, std::min(i, count - 1))) : value);
    }
  }
  return out;
}

// With several hosts and no wish of the operator, a standby would be a host that answers before the
// primary does.
bool AcceptsStandby(const ConnectionParameters& parameters) {
  return EachHost(parameters).size() == 1 ||
         !ParameterOr(parameters, "target_session_attrs", "PGTARGETSESSIONATTRS").empty();
}

absl::StatusOr<ConnectionParameters> MakeConnectionParameters(const SourceConfig& source,
                                                              ConnectionPurpose purpose) {
  WR_ASSIGN_OR_RETURN(ConnectionParameters parameters, ParseDsn(source.dsn));
  if (!source.password_file.empty()) {
    WR_ASSIGN_OR_RETURN(const Secret password, ReadSecretFile(source.password_file));
    Set(parameters, "password", password.Reveal());
  } else if (!source.password.empty()) {
    Set(parameters, "password", source.password.Reveal());
  }
  // "verify-full" and not libpq's default "prefer", which accepts any server and falls back to no
  // encryption at all.
  if (!IsLocal(parameters) && !source.allow_insecure && std::getenv("PGSSLMODE") == nullptr) {
    SetDefault(parameters, "sslmode", "verify-full");
  }
  Set(parameters, "options", OptionsParameter(parameters, source, purpose));
  // The database's encoding may differ; records are UTF-8.
  Set(parameters, "client_encoding", "UTF8");
  // `fallback_`: a name in the DSN or in PGAPPNAME takes precedence.
  SetDefault(parameters, "fallback_application_name", "walrelay");
  // GSS encryption would be tried before TLS, and can delay a connection by a Kerberos timeout.
  SetDefault(parameters, "gssencmode", "disable");
  // A dead peer is noticed after 25 seconds without data (keepalives), or 30 with unacknowledged
  // data (tcp_user_timeout).
  SetDefault(parameters, "keepalives_idle", "10");
  SetDefault(parameters, "keepalives_interval", "5");
  SetDefault(parameters, "keepalives_count", "3");
  SetDefault(parameters, "tcp_user_timeout", "30000");
  // "database" and not "true": logical replication needs a database.
  if (purpose == ConnectionPurpose::kReplication) {
    Set(parameters, "replication", "database");
  }
  return parameters;
}

void SetPassword(ConnectionParameters& parameters, const Secret& password) {
  Set(parameters, "password", password.Reveal());
}

absl::Status CheckPostgresTransport(const SourceConfig& source) {
  WR_ASSIGN_OR_RETURN(const ConnectionParameters parameters, ParseDsn(source.dsn));
  const std::string mode = ParameterOr(parameters, "sslmode", "PGSSLMODE");
  // An empty mode becomes "verify-full" in MakeConnectionParameters().
  if (IsLocal(parameters) || source.allow_insecure || mode.empty() || mode == "verify-full") {
    return absl::OkStatus();
  }
  return Error(
      ErrorCode::kInsecureTransport,
      mode == "require" || mode == "verify-ca"
          ? fmt::format(
                "[source] sslmode={} encrypts the connection to a remote host, but does not "
                "verify the server",
                mode)
          : fmt::format("[source] sslmode={} to a remote host may send rows and passwords in clear "
                        "text",
                        mode));
}

absl::Status CheckRootCertificate(const ConnectionParameters& parameters) {
  const std::string mode = ParameterOr(parameters, "sslmode", "PGSSLMODE");
  const bool verified = mode == "verify-full" || mode == "verify-ca";
  if (!verified || IsUnixSocket(parameters) ||
      !ParameterOr(parameters, "service", "PGSERVICE").empty()) {
    return absl::OkStatus();
  }
  const std::string file = RootCertificateFile(parameters);
  // The certificate authorities of the operating system, from libpq 16 on.
  const bool system = file == "system" && PQlibVersion() >= 160000;
  if (system || file.empty() || ::access(file.c_str(), R_OK) == 0) {
    return absl::OkStatus();
  }
  return Error(ErrorCode::kServerCertificate, fmt::format("sslmode={} requires the file {}: {}",
                                                          mode, file, std::strerror(errno)));
}

std::string DescribeDsn(const SourceConfig& source) {
  const auto parameters = ParseDsn(source.dsn);
  if (!parameters.ok()) {
    return "?";
  }
  // Without the password, and without parameters that may hold one: the text appears in logs and
  // pages.
  const std::string host = ParameterOr(*parameters, "host", "PGHOST");
  const std::string port = ParameterOr(*parameters, "port", "PGPORT");
  const std::string user = ParameterOr(*parameters, "user", "PGUSER");
  return fmt::format("{}{}/{}{}", host.empty() ? "local socket" : host,
                     port.empty() ? "" : ":" + port, DatabaseOf(*parameters),
                     user.empty() ? "" : " as " + user);
}

PipelineIdentity IdentityOf(const SourceConfig& source) {
  return {.source = SourceName(source), .slot = source.slot};
}

}  // namespace walrelay
