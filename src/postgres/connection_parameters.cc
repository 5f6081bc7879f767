#include "postgres/connection_parameters.h"

#include <fmt/format.h>
#include <libpq-fe.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string>
#include <utility>

#include "base/secret_file.h"
#include "postgres/session_settings.h"
#include "walrelay/config/source.h"
#include "walrelay/error.h"

namespace walrelay {
namespace {

// Replaces also the value of an operator.
void Set(ConnectionParameters& parameters, std::string_view key, std::string value) {
  std::erase_if(parameters, [&](const auto& parameter) { return parameter.first == key; });
  parameters.emplace_back(key, std::move(value));
}

// Whether every host of the list is local. The only name that counts as local is "localhost".
bool IsLocal(const ConnectionParameters& parameters) {
  const std::string_view addresses = ParameterOf(parameters, "hostaddr");
  const std::string_view hosts = ParameterOf(parameters, "host");
  const auto commas = std::max(std::count(addresses.begin(), addresses.end(), ','),
                               std::count(hosts.begin(), hosts.end(), ','));
  for (size_t i = 0; i <= static_cast<size_t>(commas); ++i) {
    const std::string_view address = ListEntry(addresses, i);
    if (!IsLocalHost(address.empty() ? ListEntry(hosts, i) : address)) {
      return false;
    }
  }
  return true;
}

// Whether TLS does not apply to the one host of the list: libpq uses it on TCP only.
bool IsUnixSocket(const ConnectionParameters& parameters) {
  const std::string_view host = ParameterOf(parameters, "host");
  return ParameterOf(parameters, "hostaddr").empty() &&
         (host.empty() || host.starts_with('/') || host.starts_with('@'));
}

// Where libpq looks for the certificate authorities; "" if only libpq knows the home folder.
std::string RootCertificateFile(const ConnectionParameters& parameters) {
  const std::string_view file = ParameterOf(parameters, "sslrootcert");
  const char* home = std::getenv("HOME");
  return file.empty() && home != nullptr ? fmt::format("{}/.postgresql/root.crt", home)
                                         : std::string(file);
}

absl::Status CheckTransport(const ConnectionParameters& parameters, const SourceConfig& source) {
  const std::string_view mode = ParameterOf(parameters, "sslmode");
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
  const std::string* own = FindParameter(parameters, "options");
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
                          is_list ? std::string(ListEntry(value, std::min(i, count - 1))) : value);
    }
  }
  return out;
}

// With several hosts and no wish of the operator, a standby would be a host that answers before the
// primary does.
bool AcceptsStandby(const ConnectionParameters& parameters) {
  return EachHost(parameters).size() == 1 ||
         FindParameter(parameters, "target_session_attrs") != nullptr;
}

absl::StatusOr<ConnectionParameters> MakeConnectionParameters(const SourceConfig& source,
                                                              ConnectionPurpose purpose,
                                                              std::string_view option) {
  WR_ASSIGN_OR_RETURN(const ConnectionParameters own, ParseDsn(source.dsn, option));
  WR_ASSIGN_OR_RETURN(auto completed, CompleteDsn(own, option));
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
  const std::string_view mode = ParameterOf(parameters, "sslmode");
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

}  // namespace walrelay
