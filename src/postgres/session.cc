#include "postgres/session.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/program.h"
#include "postgres/login_pause.h"
#include "postgres/session_settings.h"
#include "walrelay/config/source.h"
#include "walrelay/error.h"

namespace walrelay {
namespace {

using SteadyClock = std::chrono::steady_clock;

// Names of settings are compared without case, as the server does: SHOW ALL prints "TimeZone".
std::string Lower(std::string_view text) {
  std::string out(text);
  std::transform(out.begin(), out.end(), out.begin(),
                 [](unsigned char c) { return c < 0x80 ? std::tolower(c) : c; });
  return out;
}

// In a SQL_ASCII database the server cannot convert text; with client_encoding UTF8 it fails on the
// first non-ASCII byte. Bytes of such a database are therefore passed through unchanged.
absl::StatusOr<std::string> MatchEncoding(PgConnection& connection, Micros timeout) {
  if (connection.ReportedSetting("server_encoding") != "SQL_ASCII") {
    return "UTF8";
  }
  WR_RETURN_IF_ERROR(connection.Query("SET client_encoding = 'SQL_ASCII'", timeout).status());
  return "SQL_ASCII";
}

// SHOW ALL needs one round trip and reads no table catalogs (decision 0007).
absl::Status Verify(PgConnection& connection, ConnectionPurpose purpose,
                    const std::string& encoding, Micros timeout) {
  WR_ASSIGN_OR_RETURN(const PgResult rows, connection.Query("SHOW ALL", timeout));
  std::map<std::string, std::string_view> settings;
  for (int row = 0; row < rows.rows(); ++row) {
    settings.emplace(Lower(rows.Text(row, "name")), rows.Text(row, "setting"));
  }
  if (settings["client_encoding"] != encoding) {
    return Error(ErrorCode::kSessionSetting,
                 fmt::format("client_encoding: expected \"{}\", got \"{}\"", encoding,
                             settings["client_encoding"]));
  }
  return CheckSessionSettings(
      purpose, [&](std::string_view name) -> std::optional<std::string_view> {
        const auto found = settings.find(std::string(name));
        return found == settings.end() ? std::nullopt : std::optional(found->second);
      });
}

// Only for the first connection of a call: a later one names its host, see OptionsParameter.
absl::Status CheckPrimary(PgConnection& connection, Micros timeout) {
  WR_ASSIGN_OR_RETURN(
      const PgResult row,
      connection.Query("SELECT pg_catalog.pg_is_in_recovery() AS in_recovery", timeout));
  return row.rows() == 1 && !row.Bool(0, "in_recovery")
             ? absl::OkStatus()
             : Error(ErrorCode::kInRecovery,
                     fmt::format("{} is a standby", PQhost(connection.get())));
}

// All settings are applied and checked before the connection is used for anything else: a pooler or
// a role setting may override what was requested.
absl::StatusOr<PgConnection> OpenHost(const ConnectionParameters& parameters, Transport transport,
                                      const SessionOptions& options, Micros timeout, bool primary) {
  WR_RETURN_IF_ERROR(CheckRootCertificate(parameters));
  const auto limit = SteadyClock::now() + timeout;
  WR_ASSIGN_OR_RETURN(PgConnection connection,
                      PgConnection::Connect(parameters, transport, timeout, options.interrupt_fd));
  // The host's share of the time covers all steps together: a server that answers slowly must not
  // use up the time of the next host.
  connection.LimitTo(limit);
  WR_ASSIGN_OR_RETURN(const std::string encoding, MatchEncoding(connection, timeout));
  for (const std::string& command :
       LaterSettings(options.purpose, connection.server_version_num())) {
    WR_RETURN_IF_ERROR(connection.Query(command, timeout).status());
  }
  WR_RETURN_IF_ERROR(Verify(connection, options.purpose, encoding, timeout));
  if (primary) {
    WR_RETURN_IF_ERROR(CheckPrimary(connection, timeout));
  }
  connection.LimitTo(SteadyClock::time_point::max());
  return connection;
}

// Who logs in, and where: hosts, ports and user.
std::string LoginOf(const ConnectionParameters& parameters) {
  std::string login;
  for (const auto& [key, value] : parameters) {
    if (key == "host" || key == "hostaddr" || key == "port" || key == "user" || key == "service") {
      login += fmt::format("{}={} ", key, value);
    }
  }
  return login;
}

// One for the whole process: the logins of stream, sampler and other pipelines count together,
// because the server, and a guard in front of it, counts them together.
LoginPause& Logins() {
  static LoginPause logins;
  return logins;
}

}  // namespace

// Tries one host after the other. libpq's own list would share one timeout between them, and an
// address that does not respond would use all of it.
absl::StatusOr<OpenedSession> OpenSession(const SourceConfig& source,
                                          const SessionOptions& options) {
  WR_ASSIGN_OR_RETURN(ConnectionParameters parameters,
                      MakeConnectionParameters(source, options.purpose));
  // Before the password command, whose calls are limited with the logins.
  const std::string login = LoginOf(parameters);
  WR_RETURN_IF_ERROR(Logins().Check(login, SteadyClock::now()));
  const auto deadline = SteadyClock::now() + options.timeout;
  if (!source.password_command.empty()) {
    WR_ASSIGN_OR_RETURN(
        const Secret password,
        RunProgram(source.password_command, ErrorCode::kPasswordCommand,
                   std::min(source.connect_timeout, options.timeout), options.interrupt_fd));
    SetPassword(parameters, password);
  }
  const std::vector<ConnectionParameters> hosts = EachHost(parameters);
  const bool primary = !options.host && !AcceptsStandby(parameters);
  const size_t first = std::min(options.host.value_or(0), hosts.size() - 1);
  // With a host given, no other one is tried: the second connection of an attempt has to reach the
  // same server.
  const size_t end = options.host ? first + 1 : hosts.size();
  absl::Status status;
  for (size_t i = first; i < end; ++i) {
    const auto left = std::chrono::duration_cast<Micros>(deadline - SteadyClock::now());
    // A host that does not answer uses its share only; what it leaves goes to the hosts after it.
    const Micros share = std::min<Micros>(source.connect_timeout, left / (end - i));
    auto connection = OpenHost(hosts[i], TransportOf(source), options, share, primary);
    if (connection.ok()) {
      Logins().OnAccepted(login);
      return OpenedSession{*std::move(connection), i};
    }
    // The process is stopping: no other host is tried.
    if (absl::IsCancelled(connection.status())) {
      return connection.status();
    }
    // The error of a host that answered is more useful than that of an unreachable host.
    if (status.ok() || HasCode(status, ErrorCode::kPostgresUnreachable)) {
      status = connection.status();
    }
  }
  if (HasCode(status, ErrorCode::kPostgresLogin)) {
    Logins().OnRefused(login, status, SteadyClock::now());
  }
  return status;
}

absl::StatusOr<PgConnection> ConnectTo(const SourceConfig& source, ConnectionPurpose purpose) {
  WR_ASSIGN_OR_RETURN(OpenedSession session, OpenSession(source, {.purpose = purpose}));
  return std::move(session.connection);
}

}  // namespace walrelay
