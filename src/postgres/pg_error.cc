#include "postgres/pg_error.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "base/text.h"

namespace walrelay {
namespace {

// `sign`: a SQLSTATE, or a part of a text.
struct Meaning {
  std::string_view sign;
  ErrorCode code;
};

// Source: Postgres documentation, appendix "PostgreSQL Error Codes".
constexpr Meaning kMeanings[] = {
    {"28000", ErrorCode::kPostgresLogin},      // invalid_authorization_specification: pg_hba.conf
    {"28P01", ErrorCode::kPostgresLogin},      // invalid_password
    {"3D000", ErrorCode::kDatabaseMissing},    // invalid_catalog_name
    {"42501", ErrorCode::kNoReplicationRole},  // insufficient_privilege
    {"53300", ErrorCode::kNoSenderFree},       // too_many_connections
    {"53400", ErrorCode::kNoSenderFree},       // configuration_limit_exceeded: all slots in use
    {"55006", ErrorCode::kSlotBusy},           // object_in_use
    {"57P01", ErrorCode::kPostgresShuttingDown},  // admin_shutdown
    {"57P02", ErrorCode::kPostgresShuttingDown},  // crash_shutdown
    {"57P03", ErrorCode::kPostgresShuttingDown},  // cannot_connect_now
    {"08P01", ErrorCode::kNotReplication},        // protocol_violation: the error of poolers
};

ErrorCode CodeFor(std::string_view sqlstate, ErrorCode otherwise) {
  for (const Meaning& meaning : kMeanings) {
    if (meaning.sign == sqlstate) {
      return meaning.code;
    }
  }
  return otherwise;
}

std::string_view Field(const PGresult* result, int field) {
  const char* text = PQresultErrorField(result, field);
  return text != nullptr ? std::string_view(text) : std::string_view();
}

// The server's error message with `code`; a lost connection if there is no message.
absl::Status ErrorOf(const PGconn* connection, const PGresult* result, ErrorCode code) {
  const std::string_view sqlstate = Field(result, PG_DIAG_SQLSTATE);
  if (sqlstate.empty()) {
    return Error(ErrorCode::kConnectionLost, Readable(PQerrorMessage(connection)));
  }
  std::string message(Field(result, PG_DIAG_MESSAGE_PRIMARY));
  for (const int field : {PG_DIAG_MESSAGE_DETAIL, PG_DIAG_CONTEXT}) {
    if (const std::string_view more = Field(result, field); !more.empty()) {
      message += fmt::format("; {}", more);
    }
  }
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
constexpr Meaning kTlsErrors[] = {
    {"certificate verify failed", ErrorCode::kServerCertificate},
    {"server certificate for ", ErrorCode::kServerCertificate},
    {"root certificate file", ErrorCode::kServerCertificate},
    {"could not load system root certificate paths", ErrorCode::kServerCertificate},
    {"server does not support SSL", ErrorCode::kInsecureTransport},
};

ErrorCode LibpqError(std::string_view message) {
  for (const Meaning& meaning : kTlsErrors) {
    if (message.find(meaning.sign) != std::string_view::npos) {
      return meaning.code;
    }
  }
  return ErrorCode::kPostgresUnreachable;
}

// The catalogue's remedy for WR-1006 is about a connection that walrelay refuses.
std::string_view LibpqHint(ErrorCode code) {
  return code == ErrorCode::kInsecureTransport
             ? "Turn on TLS on the server (ssl = on). On a trusted network, remove sslmode from "
               "source.dsn and set allow_insecure = true in [source]."
             : "";
}

}  // namespace

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
  return Printable(line, 500);
}

// An error without a SQLSTATE comes from libpq itself: the server was not reached, or TLS failed.
absl::Status ConnectError(const PGconn* connection) {
  const std::string_view message = PQerrorMessage(connection);
  const ErrorCode code = CodeFor(SqlstateIn(message), LibpqError(message));
  return Error(code, Readable(message), LibpqHint(code));
}

absl::Status ResultError(const PGconn* connection, const PGresult* result) {
  return ErrorOf(connection, result,
                 CodeFor(Field(result, PG_DIAG_SQLSTATE), ErrorCode::kPostgresError));
}

absl::Status StreamError(const PGconn* connection, const PGresult* result) {
  const std::string_view sqlstate = Field(result, PG_DIAG_SQLSTATE);
  return ErrorOf(connection, result,
                 sqlstate == "42704" ? ErrorCode::kPublicationTooNew
                                     : CodeFor(sqlstate, ErrorCode::kPostgresError));
}

}  // namespace walrelay
