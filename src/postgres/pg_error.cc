#include "postgres/pg_error.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <optional>
#include <utility>

#include "base/text.h"

namespace walrelay {
namespace {

// A row without a function applies to every function, one without a place to every place. The first
// row that applies decides, so exact rows precede general ones.
struct Meaning {
  std::optional<PgPlace> place;
  std::string_view sqlstate;
  std::string_view function;
  ErrorCode code;
};
constexpr std::optional<PgPlace> kAnywhere;

// Source: Postgres documentation, appendix "PostgreSQL Error Codes"; the functions in
// src/backend/utils/init/postinit.c, src/backend/replication/slot.c and slotfuncs.c.
constexpr Meaning kMeanings[] = {
    // invalid_authorization_specification: pg_hba.conf; invalid_password
    {PgPlace::kLogin, "28000", "", ErrorCode::kPostgresLogin},
    {PgPlace::kLogin, "28P01", "", ErrorCode::kPostgresLogin},
    // invalid_catalog_name
    {PgPlace::kLogin, "3D000", "", ErrorCode::kDatabaseMissing},
    // insufficient_privilege: of REPLICATION where walsenders and slots check it
    {PgPlace::kLogin, "42501", "InitPostgres", ErrorCode::kNoReplicationRole},
    {PgPlace::kCommand, "42501", "CheckSlotPermissions", ErrorCode::kNoReplicationRole},
    {PgPlace::kCommand, "42501", "check_permissions", ErrorCode::kNoReplicationRole},
    {kAnywhere, "42501", "", ErrorCode::kPermissionDenied},
    // too_many_connections
    {PgPlace::kLogin, "53300", "", ErrorCode::kNoSenderFree},
    // configuration_limit_exceeded: max_replication_slots
    {PgPlace::kCommand, "53400", "ReplicationSlotCreate", ErrorCode::kNoSlotFree},
    // object_in_use
    {PgPlace::kCommand, "55006", "", ErrorCode::kSlotBusy},
    // undefined_object: the publication, because the slot was found before
    {PgPlace::kStream, "42704", "get_publication_oid", ErrorCode::kPublicationTooNew},
    {PgPlace::kStream, "42704", "GetPublicationByName", ErrorCode::kPublicationTooNew},
    // admin_shutdown, crash_shutdown, cannot_connect_now
    {kAnywhere, "57P01", "", ErrorCode::kPostgresShuttingDown},
    {kAnywhere, "57P02", "", ErrorCode::kPostgresShuttingDown},
    {kAnywhere, "57P03", "", ErrorCode::kPostgresShuttingDown},
};

// A pooler's own errors have the code of a protocol violation, no place in Postgres' source, and an
// English text.
std::optional<ErrorCode> PoolerError(const PgErrorFields& error) {
  if (error.sqlstate != "08P01" || !error.function.empty()) {
    return std::nullopt;
  }
  const auto says = [&error](std::string_view words) {
    return error.message.find(words) != std::string_view::npos;
  };
  if (says("replication")) {
    return ErrorCode::kNotReplication;
  }
  return says("startup parameter") ? std::optional(ErrorCode::kPoolerRefused) : std::nullopt;
}

std::string_view Field(const PGresult* result, int field) {
  const char* text = PQresultErrorField(result, field);
  return text != nullptr ? std::string_view(text) : std::string_view();
}

// The server's error message; a lost connection if there is none.
absl::Status ErrorOf(const PGconn* connection, const PGresult* result, PgPlace place) {
  const std::string_view sqlstate = Field(result, PG_DIAG_SQLSTATE);
  if (sqlstate.empty()) {
    return Error(ErrorCode::kConnectionLost, Readable(PQerrorMessage(connection)));
  }
  std::string message(Field(result, PG_DIAG_MESSAGE_PRIMARY));
  for (const auto& [field, label] :
       {std::pair(PG_DIAG_MESSAGE_DETAIL, ""),
        std::pair(PG_DIAG_MESSAGE_HINT, "hint of the server: "), std::pair(PG_DIAG_CONTEXT, "")}) {
    if (const std::string_view more = Field(result, field); !more.empty()) {
      message += fmt::format("; {}{}", label, more);
    }
  }
  const ErrorCode code = MeaningOf(place, {.sqlstate = sqlstate,
                                           .function = Field(result, PG_DIAG_SOURCE_FUNCTION),
                                           .message = Field(result, PG_DIAG_MESSAGE_PRIMARY)});
  return Error(code, fmt::format("{} (SQLSTATE {})", Readable(message), sqlstate));
}

// Digits and upper-case letters, as the SQL standard defines them.
bool IsSqlstate(std::string_view text) {
  return text.size() == 5 && std::all_of(text.begin(), text.end(), [](unsigned char c) {
           return std::isdigit(c) != 0 || std::isupper(c) != 0;
         });
}

// libpq reports a failed TLS handshake by its text only. The texts are those of libpq 13 to 18 and
// of OpenSSL 3, and are not translated: the process has the C locale. Another text means WR-2001,
// which is retried.
struct TlsError {
  std::string_view sign;  // a part of the text
  ErrorCode code;
};
constexpr TlsError kTlsErrors[] = {
    {"certificate verify failed", ErrorCode::kServerCertificate},
    {"server certificate for ", ErrorCode::kServerCertificate},
    {"root certificate file", ErrorCode::kServerCertificate},
    {"could not load system root certificate paths", ErrorCode::kServerCertificate},
    {"server does not support SSL", ErrorCode::kInsecureTransport},
};

ErrorCode LibpqError(std::string_view message) {
  for (const TlsError& meaning : kTlsErrors) {
    if (message.find(meaning.sign) != std::string_view::npos) {
      return meaning.code;
    }
  }
  return ErrorCode::kPostgresUnreachable;
}

// The privilege that CheckMyDatabase() of postinit.c checks is CONNECT.
std::string_view LoginHint(const PgErrorFields& error) {
  return error.sqlstate == "42501" && error.function == "CheckMyDatabase"
             ? "GRANT CONNECT ON DATABASE your_database TO your_role;"
             : "";
}

// The catalogue's remedy for WR-1006 is about a connection that walrelay refuses.
std::string_view LibpqHint(ErrorCode code) {
  return code == ErrorCode::kInsecureTransport
             ? "Turn on TLS on the server (ssl = on). On a trusted network, remove sslmode from "
               "source.dsn and set allow_insecure = true in [source]."
             : "";
}

}  // namespace

ErrorCode MeaningOf(PgPlace place, const PgErrorFields& error) {
  if (const auto pooler = PoolerError(error)) {
    return *pooler;
  }
  for (const Meaning& meaning : kMeanings) {
    if (meaning.sqlstate == error.sqlstate && (!meaning.place || *meaning.place == place) &&
        (meaning.function.empty() || meaning.function == error.function)) {
      return meaning.code;
    }
  }
  return place == PgPlace::kLogin ? ErrorCode::kSessionRefused : ErrorCode::kPostgresError;
}

// "LOCATION:  InitPostgres, postinit.c:809", on a line of its own after the message.
std::string_view FunctionIn(std::string_view verbose_message) {
  constexpr std::string_view kLabel = "LOCATION:  ";
  const size_t at = verbose_message.find(kLabel);
  if (at == std::string_view::npos) {
    return {};
  }
  const std::string_view rest = verbose_message.substr(at + kLabel.size());
  return rest.substr(0, std::min(rest.find(','), rest.find('\n')));
}

// "FATAL:  28P01: password authentication failed": two spaces after the severity, a colon after the
// code. The severity is translated, the form is not.
std::string_view SqlstateIn(std::string_view verbose_message) {
  constexpr std::string_view kBefore = ":  ";
  for (size_t at = verbose_message.find(kBefore); at != std::string_view::npos;
       at = verbose_message.find(kBefore, at + 1)) {
    const std::string_view candidate = verbose_message.substr(at + kBefore.size(), 5);
    const size_t end = at + kBefore.size() + 5;
    if (IsSqlstate(candidate) && end < verbose_message.size() && verbose_message[end] == ':') {
      return candidate;
    }
  }
  return {};
}

std::string Readable(std::string_view message) {
  std::string line;
  while (!message.empty()) {
    const size_t end = std::min(message.find('\n'), message.size());
    std::string_view part = message.substr(0, end);
    message.remove_prefix(std::min(end + 1, message.size()));
    part.remove_prefix(std::min(part.find_first_not_of(" \t"), part.size()));
    // The place in Postgres' source, which the verbose form adds.
    if (part.empty() || part.starts_with("LOCATION:")) {
      continue;
    }
    line += line.empty() ? "" : "; ";
    if (const std::string_view state = SqlstateIn(part); !state.empty()) {
      const auto at = static_cast<size_t>(state.data() - part.data());
      line += part.substr(0, at);
      part.remove_prefix(at + state.size() + 2);
    }
    line += part;
  }
  return Printable(line, 1000);
}

// An error without a SQLSTATE comes from libpq itself: the server was not reached, or TLS failed.
absl::Status ConnectError(const PGconn* connection) {
  const std::string_view message = PQerrorMessage(connection);
  const std::string_view sqlstate = SqlstateIn(message);
  if (sqlstate.empty()) {
    const ErrorCode code = LibpqError(message);
    return Error(code, Readable(message), LibpqHint(code));
  }
  // With several addresses there are several messages; the place is that of the first SQLSTATE.
  const std::string_view rest =
      message.substr(static_cast<size_t>(sqlstate.data() - message.data()));
  const PgErrorFields error{.sqlstate = sqlstate,
                            .function = FunctionIn(rest),
                            .message = rest.substr(0, rest.find('\n'))};
  return Error(MeaningOf(PgPlace::kLogin, error), Readable(message), LoginHint(error));
}

absl::Status ResultError(const PGconn* connection, const PGresult* result) {
  return ErrorOf(connection, result, PgPlace::kCommand);
}

absl::Status StreamError(const PGconn* connection, const PGresult* result) {
  return ErrorOf(connection, result, PgPlace::kStream);
}

}  // namespace walrelay
