#include "postgres/dsn.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

#include "base/loopback.h"
#include "postgres/pg_error.h"
#include "walrelay/config/source.h"
#include "walrelay/error.h"

namespace walrelay {
namespace {

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
  if (!IsPortList(ParameterOf(parameters, "port"))) {
    part = "its port is not a number";
  } else if (HasAt(ParameterOf(parameters, "host")) || HasAt(ParameterOf(parameters, "hostaddr"))) {
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

struct ConnectionDeleter {
  void operator()(PGconn* connection) const { PQfinish(connection); }
};

// Without the password, and without parameters that may hold one: the text appears in logs and
// pages.
std::string Describe(const ConnectionParameters& parameters, bool with_port) {
  std::string_view host = ParameterOf(parameters, "host");
  host = host.empty() ? ParameterOf(parameters, "hostaddr") : host;
  const std::string_view port = with_port ? ParameterOf(parameters, "port") : "";
  const std::string_view user = ParameterOf(parameters, "user");
  const std::string_view database = ParameterOf(parameters, "dbname");
  return fmt::format("{}{}{}/{}{}{}", host.empty() ? "local socket" : host, port.empty() ? "" : ":",
                     port, database.empty() ? user : database, user.empty() ? "" : " as ", user);
}

}  // namespace

// The list is short, and its order does not matter to libpq.
const std::string* FindParameter(const ConnectionParameters& parameters, std::string_view key) {
  const auto found = std::find_if(parameters.begin(), parameters.end(),
                                  [&](const auto& parameter) { return parameter.first == key; });
  return found == parameters.end() ? nullptr : &found->second;
}

std::string_view ParameterOf(const ConnectionParameters& parameters, std::string_view key) {
  const std::string* value = FindParameter(parameters, key);
  return value != nullptr ? std::string_view(*value) : std::string_view();
}

std::string_view ListEntry(std::string_view list, size_t index) {
  for (; index > 0; --index) {
    const size_t comma = list.find(',');
    list = comma == std::string_view::npos ? std::string_view() : list.substr(comma + 1);
  }
  return list.substr(0, list.find(','));
}

// An empty host is the default directory of Unix sockets; "@" begins an abstract one.
bool IsLocalHost(std::string_view host) {
  return host.empty() || host.starts_with('/') || host.starts_with('@') || IsLoopback(host);
}

absl::StatusOr<ConnectionParameters> ParseDsn(const std::string& dsn, std::string_view option) {
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

// Only libpq knows what a service file, a variable or a default add, and which of them counts. It
// has no function that completes parameters without a connection: this one begins a connection with
// an invalid value, which libpq reports after it has completed the others, and before it resolves
// the name of a host. That parameter is not part of the result.
absl::StatusOr<CompletedDsn> CompleteDsn(const ConnectionParameters& own, std::string_view option) {
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
  CompletedDsn completed;
  for (const PQconninfoOption* each = options.get(); each->keyword != nullptr; ++each) {
    if (each->val == nullptr || *each->val == '\0' ||
        std::string_view(each->keyword) == kInvalidKey) {
      continue;
    }
    completed.parameters.emplace_back(each->keyword, each->val);
    const char* variable = each->envvar != nullptr ? std::getenv(each->envvar) : nullptr;
    if (FindParameter(own, each->keyword) != nullptr || variable != nullptr ||
        each->compiled == nullptr || std::string_view(each->compiled) != each->val) {
      completed.chosen.emplace(each->keyword);
    }
  }
  // Adds the own parameters that the result lacks. libpq completes them when it connects.
  for (const auto& [key, value] : own) {
    if (FindParameter(completed.parameters, key) == nullptr) {
      completed.parameters.emplace_back(key, value);
    }
  }
  return completed;
}

std::string DescribeDsn(const SourceConfig& source) {
  const auto own = ParseDsn(source.dsn);
  const auto completed = own.ok() ? CompleteDsn(*own) : absl::StatusOr<CompletedDsn>(own.status());
  return completed.ok() ? Describe(completed->parameters, completed->chosen.contains("port")) : "?";
}

std::string DescribeDsnAlone(const SourceConfig& source) {
  const auto own = ParseDsn(source.dsn);
  return own.ok() ? Describe(*own, /*with_port=*/true) : "?";
}

absl::StatusOr<DatabaseAddress> DatabaseAddressOf(const SourceConfig& source) {
  WR_ASSIGN_OR_RETURN(const ConnectionParameters own, ParseDsn(source.dsn));
  WR_ASSIGN_OR_RETURN(const CompletedDsn completed, CompleteDsn(own));
  const ConnectionParameters& parameters = completed.parameters;
  const std::string_view host = ParameterOf(parameters, "host");
  return DatabaseAddress{
      .server = fmt::format("{}:{}", host.empty() ? ParameterOf(parameters, "hostaddr") : host,
                            ParameterOf(parameters, "port")),
      .database = std::string(ParameterOf(parameters, "dbname"))};
}

}  // namespace walrelay
