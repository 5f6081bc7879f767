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
#include <set>

#include "base/loopback.h"
#include "base/secret_file.h"
#include "postgres/pg_error.h"
#include "postgres/session_settings.h"
#include "walrelay/config/source.h"
#include "walrelay/error.h"

namespace walrelay {
namespace {

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

std::string_view ValueOf(const ConnectionParameters& parameters, std::string_view key) {
  const std::string* value = Find(parameters, key);
  return value != nullptr ? std::string_view(*value) : std::string_view();
}

// Names the usual mistakes without quoting the string, which may hold a password. `option`: the
// option that has the string.
absl::Status InvalidDsn(std::string_view dsn, std::string_view option) {
  constexpr std::string_view kForm =
      "Use the form postgresql://user@host:port/database or host=… dbname=… user=…";
  const std::string what = fmt::format("{} is not a valid libpq connection string", option);
  if (dsn.starts_with("jdbc:")) {
    return Error(ErrorCode::kConfigValue, fmt::format("{}: it is a JDBC URL, drop \"jdbc:\"", what),
                 kForm);
  }
  if (dsn.find("${") != std::string_view::npos) {
    return Error(ErrorCode::kConfigValue,
                 fmt::format("{}: \"${{\" has no meaning in this file", what),
                 "Set the variable WALRELAY_SOURCE__DSN in place of the key.");
  }
  const bool is_uri =
      dsn.find("://") == std::string_view::npos && dsn.find('=') == std::string_view::npos;
  return Error(ErrorCode::kConfigValue,
               is_uri ? fmt::format("{}: a URI begins with \"postgresql://\"", what) : what, kForm);
}

bool IsPortList(std::string_view ports) {
  return ports.find_first_not_of("0123456789,") == std::string_view::npos;
}

// An abstract Unix socket begins with "@".
bool HasAt(std::string_view hosts) {
  for (size_t at = hosts.find('@'); at != std::string_view::npos; at = hosts.find('@', at + 1)) {
    if (at > 0 && hosts[at - 1] != ',') {
      return true;
    }
  }
  return false;
}

// The text between the hosts of a URI and its parameters, as it is written; "" for pairs.
std::string_view PathOfUri(std::string_view dsn) {
  if (!dsn.starts_with("postgresql://") && !dsn.starts_with("postgres://")) {
    return "";
  }
  dsn.remove_prefix(dsn.find("//") + 2);
  dsn.remove_prefix(std::min(dsn.find('/'), dsn.size()));
  return dsn.substr(0, dsn.find('?'));
}

// A password that is not encoded ends where libpq finds "/" or the last "@": its rest would become
// a port, a host or a database, which logs and metrics show.
absl::Status CheckParts(const ConnectionParameters& parameters, std::string_view dsn,
                        std::string_view option) {
  const char* part = nullptr;
  if (!IsPortList(ValueOf(parameters, "port"))) {
    part = "its port is not a number";
  } else if (HasAt(ValueOf(parameters, "host")) || HasAt(ValueOf(parameters, "hostaddr"))) {
    part = "its host contains \"@\"";
  } else if (PathOfUri(dsn).find('@') != std::string_view::npos) {
    part = "its database contains \"@\"";
  }
  return part == nullptr
             ? absl::OkStatus()
             : Error(
                   ErrorCode::kConfigValue, fmt::format("{}: {}", option, part),
                   "Percent-encode user and password in a URI: / is %2F, @ is %40, : is %3A, ? is "
                   "%3F, # is %23, % is %25; or keep the password in password_file.");
}

absl::StatusOr<ConnectionParameters> ParseDsn(const std::string& dsn,
                                              std::string_view option = "source.dsn") {
  char* message = nullptr;
  const ConninfoOptions options(PQconninfoParse(dsn.c_str(), &message));
  if (options == nullptr) {
    // The message may quote the string, and with it a password.
    PQfreemem(message);
    return InvalidDsn(dsn, option);
  }
  ConnectionParameters parameters;
  for (const PQconninfoOption* each = options.get(); each->keyword != nullptr; ++each) {
    // An empty value counts as absent: libpq uses the environment or its default.
    if (each->val != nullptr && *each->val != '\0') {
      parameters.emplace_back(each->keyword, each->val);
    }
  }
  WR_RETURN_IF_ERROR(CheckParts(parameters, dsn, option));
  return parameters;
}

// The parameters of a connection, completed by libpq.
struct Completed {
  ConnectionParameters parameters;
  // Those that are in the DSN, in a service file or in a variable; the others are libpq's defaults.
  // A service file that sets a default's value is not noticed.
  std::set<std::string, std::less<>> chosen;
};

struct ConnectionDeleter {
  void operator()(PGconn* connection) const { PQfinish(connection); }
};

// Only libpq knows what a service file, a variable or a default add, and which of them counts. It
// has no function that completes parameters without a connection: this one begins a connection with
// an invalid value, which libpq reports after it has completed the others, and before it resolves
// the name of a host. That parameter is not part of the result.
absl::StatusOr<Completed> Complete(const ConnectionParameters& own, std::string_view option) {
  constexpr const char* kInvalidKey = "channel_binding";
  constexpr const char* kInvalidValue = "walrelay-completes-parameters";
  std::vector<const char*> keys;
  std::vector<const char*> values;
  for (const auto& [key, value] : own) {
    keys.push_back(key.c_str());
    values.push_back(value.c_str());
  }
  // The last of two values counts.
  keys.insert(keys.end(), {kInvalidKey, nullptr});
  values.insert(values.end(), {kInvalidValue, nullptr});
  const std::unique_ptr<PGconn, ConnectionDeleter> connection(
      PQconnectStartParams(keys.data(), values.data(), /*expand_dbname=*/0));
  const ConninfoOptions options(PQconninfo(connection.get()));
  if (options == nullptr) {
    return absl::ResourceExhaustedError("libpq: out of memory");
  }
  const std::string message = Readable(PQerrorMessage(connection.get()));
  if (message.find(kInvalidValue) == std::string::npos) {
    return Error(ErrorCode::kConfigValue, fmt::format("{}: {}", option, message));
  }
  Completed completed;
  for (const PQconninfoOption* each = options.get(); each->keyword != nullptr; ++each) {
    if (each->val == nullptr || *each->val == '\0' ||
        std::string_view(each->keyword) == kInvalidKey) {
      continue;
    }
    completed.parameters.emplace_back(each->keyword, each->val);
    const char* variable = each->envvar != nullptr ? std::getenv(each->envvar) : nullptr;
    if (Find(own, each->keyword) != nullptr || variable != nullptr || each->compiled == nullptr ||
        std::string_view(each->compiled) != each->val) {
      completed.chosen.emplace(each->keyword);
    }
  }
  // Adds the own parameters that the result lacks. libpq completes them when it connects.
  for (const auto& [key, value] : own) {
    SetDefault(completed.parameters, key, value);
  }
  return completed;
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

// Whether every host of the list is local. The only name that counts as local is "localhost".
bool IsLocal(const ConnectionParameters& parameters) {
  const std::string_view addresses = ValueOf(parameters, "hostaddr");
  const std::string_view hosts = ValueOf(parameters, "host");
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
  const std::string_view host = ValueOf(parameters, "host");
  return ValueOf(parameters, "hostaddr").empty() &&
         (host.empty() || host.starts_with('/') || host.starts_with('@'));
}

// Where libpq looks for the certificate authorities; "" if only libpq knows the home folder.
std::string RootCertificateFile(const ConnectionParameters& parameters) {
  const std::string_view file = ValueOf(parameters, "sslrootcert");
  const char* home = std::getenv("HOME");
  return file.empty() && home != nullptr ? fmt::format("{}/.postgresql/root.crt", home)
                                         : std::string(file);
}

absl::Status CheckTransport(const ConnectionParameters& parameters, const SourceConfig& source) {
  const std::string_view mode = ValueOf(parameters, "sslmode");
  if (IsLocal(parameters) || source.allow_insecure || mode == "verify-full") {
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
  std::string host(EntryOf(ValueOf(parameters, "host"), 0));
  if (host.empty()) {
    host = EntryOf(ValueOf(parameters, "hostaddr"), 0);
  }
  if (IsLocalHost(host)) {
    host = NameOfThisMachine();
  } else if (host.find(':') != std::string::npos) {
    host = fmt::format("[{}]", host);
  }
  const std::string_view port = EntryOf(ValueOf(parameters, "port"), 0);
  return port.empty() || port == "5432" ? host : fmt::format("{}:{}", host, port);
}

// The service that names the host; "": none.
std::string ServiceOf(const ConnectionParameters& own) {
  const char* variable = std::getenv("PGSERVICE");
  const std::string_view service = ValueOf(own, "service");
  if (Find(own, "host") != nullptr || Find(own, "hostaddr") != nullptr) {
    return "";
  }
  return service.empty() && variable != nullptr ? variable : std::string(service);
}

std::string SourceName(const SourceConfig& source) {
  if (!source.name.empty()) {
    return source.name;
  }
  const auto own = ParseDsn(source.dsn);
  if (!own.ok()) {
    return "?";
  }
  if (const std::string service = ServiceOf(*own); !service.empty()) {
    const std::string_view database = ValueOf(*own, "dbname");
    return database.empty() ? service : fmt::format("{}/{}", service, database);
  }
  const auto completed = Complete(*own, "source.dsn");
  return completed.ok() ? fmt::format("{}/{}", ClusterName(completed->parameters),
                                      ValueOf(completed->parameters, "dbname"))
                        : "?";
}

// Without the password, and without parameters that may hold one: the text appears in logs and
// pages.
std::string Describe(const ConnectionParameters& parameters, bool with_port) {
  std::string_view host = ValueOf(parameters, "host");
  host = host.empty() ? ValueOf(parameters, "hostaddr") : host;
  const std::string_view port = with_port ? ValueOf(parameters, "port") : "";
  const std::string_view user = ValueOf(parameters, "user");
  const std::string_view database = ValueOf(parameters, "dbname");
  return fmt::format("{}{}{}/{}{}{}", host.empty() ? "local socket" : host, port.empty() ? "" : ":",
                     port, database.empty() ? user : database, user.empty() ? "" : " as ", user);
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
  return EachHost(parameters).size() == 1 || Find(parameters, "target_session_attrs") != nullptr;
}

absl::StatusOr<ConnectionParameters> MakeConnectionParameters(const SourceConfig& source,
                                                              ConnectionPurpose purpose,
                                                              std::string_view option) {
  WR_ASSIGN_OR_RETURN(const ConnectionParameters own, ParseDsn(source.dsn, option));
  WR_ASSIGN_OR_RETURN(auto completed, Complete(own, option));
  ConnectionParameters& parameters = completed.parameters;
  const auto& chosen = completed.chosen;
  // walrelay's default replaces that of libpq.
  const auto set_default = [&](std::string_view key, const char* value) {
    if (!chosen.contains(key)) {
      Set(parameters, key, value);
    }
  };
  // "verify-full" and not libpq's default "prefer", which accepts any server and falls back to no
  // encryption at all.
  if (!IsLocal(parameters) && !source.allow_insecure) {
    set_default("sslmode", "verify-full");
  }
  WR_RETURN_IF_ERROR(CheckTransport(parameters, source));
  if (!source.password_file.empty()) {
    WR_ASSIGN_OR_RETURN(const Secret password, ReadSecretFile(source.password_file));
    Set(parameters, "password", password.Reveal());
  } else if (!source.password.empty()) {
    Set(parameters, "password", source.password.Reveal());
  }
  // See AcceptsStandby().
  if (!chosen.contains("target_session_attrs")) {
    std::erase_if(parameters,
                  [](const auto& each) { return each.first == "target_session_attrs"; });
  }
  Set(parameters, "options", OptionsParameter(parameters, source, purpose));
  // The database's encoding may differ; records are UTF-8.
  Set(parameters, "client_encoding", "UTF8");
  // `fallback_`: a name in the DSN or in PGAPPNAME takes precedence.
  set_default("fallback_application_name", "walrelay");
  // GSS encryption would be tried before TLS, and can delay a connection by a Kerberos timeout.
  set_default("gssencmode", "disable");
  // A dead peer is noticed after 25 seconds without data (keepalives), or 30 with unacknowledged
  // data (tcp_user_timeout).
  set_default("keepalives_idle", "10");
  set_default("keepalives_interval", "5");
  set_default("keepalives_count", "3");
  set_default("tcp_user_timeout", "30000");
  // "database" and not "true": logical replication needs a database.
  if (purpose == ConnectionPurpose::kReplication) {
    Set(parameters, "replication", "database");
  }
  return std::move(parameters);
}

Transport TransportOf(const SourceConfig& source) {
  return source.allow_insecure ? Transport::kAny : Transport::kVerified;
}

void SetPassword(ConnectionParameters& parameters, const Secret& password) {
  Set(parameters, "password", password.Reveal());
}

absl::Status CheckRootCertificate(const ConnectionParameters& parameters) {
  const std::string_view mode = ValueOf(parameters, "sslmode");
  const bool verified = mode == "verify-full" || mode == "verify-ca";
  if (!verified || IsUnixSocket(parameters)) {
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
  const auto own = ParseDsn(source.dsn);
  const auto completed =
      own.ok() ? Complete(*own, "source.dsn") : absl::StatusOr<Completed>(own.status());
  return completed.ok() ? Describe(completed->parameters, completed->chosen.contains("port")) : "?";
}

std::string DescribeDsnAlone(const SourceConfig& source) {
  const auto own = ParseDsn(source.dsn);
  return own.ok() ? Describe(*own, /*with_port=*/true) : "?";
}

absl::StatusOr<DatabaseAddress> DatabaseAddressOf(const SourceConfig& source) {
  WR_ASSIGN_OR_RETURN(const ConnectionParameters own, ParseDsn(source.dsn));
  WR_ASSIGN_OR_RETURN(const Completed completed, Complete(own, "source.dsn"));
  const ConnectionParameters& parameters = completed.parameters;
  const std::string_view host = ValueOf(parameters, "host");
  return DatabaseAddress{
      .server = fmt::format("{}:{}", host.empty() ? ValueOf(parameters, "hostaddr") : host,
                            ValueOf(parameters, "port")),
      .database = std::string(ValueOf(parameters, "dbname"))};
}

absl::Status CheckSourceName(const SourceConfig& source) {
  const std::string name = SourceName(source);
  const bool plain = name.size() <= 128 && std::all_of(name.begin(), name.end(), [](char c) {
                       return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                              (c >= '0' && c <= '9') ||
                              std::string_view("._-:/[]").find(c) != std::string_view::npos;
                     });
  // The error of an invalid DSN is that of MakeConnectionParameters().
  return plain || name == "?"
             ? absl::OkStatus()
             : Error(ErrorCode::kConfigValue,
                     "source.dsn: the names of its host and database are not suitable as the name "
                     "of the source, which has at most 128 letters, digits and \"._-:/\"",
                     "Set name in [source].");
}

PipelineIdentity IdentityOf(const SourceConfig& source) {
  return {.source = SourceName(source), .slot = source.slot};
}

}  // namespace walrelay
