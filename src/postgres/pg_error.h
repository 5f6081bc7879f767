// Maps errors of Postgres and libpq to error codes.
//
// The SQLSTATE decides, and where the error arose: while logging in, in a command or in a stream,
// and in which function of the server. Texts are translated and reworded. While connecting, libpq
// provides only a text; the connection then requests the verbose form, which contains both. Errors
// about a slot for which that is not enough: slot_error.h; warnings: server_notice.h.
//
// A message keeps the server's DETAIL, HINT and CONTEXT.
#pragma once

#include <libpq-fe.h>

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "walrelay/error.h"

namespace walrelay {

enum class PgPlace : uint8_t { kLogin, kCommand, kStream };

// The fields of an error that decide what it means; "" for one that is missing. Poolers have no
// function.
struct PgErrorFields {
  std::string_view sqlstate;
  std::string_view function;
  std::string_view message;
};

// WR-2025 (SessionRefused) for a login, and WR-2012 (PostgresError) otherwise, if nothing else is
// known about the error.
ErrorCode MeaningOf(PgPlace place, const PgErrorFields& error);

// The error of a connection attempt that failed.
// Without a SQLSTATE: WR-2016 if the server's certificate was not accepted, WR-1006 if the server
// has no TLS, otherwise WR-2001, the server was not reached.
absl::Status ConnectError(const PGconn* connection);

// The error of a command that failed.
// WR-2005 if there is no SQLSTATE.
// REQUIRES: `connection` is the one that returned `result`.
absl::Status ResultError(const PGconn* connection, const PGresult* result);

// The error with which the server ended a stream.
absl::Status StreamError(const PGconn* connection, const PGresult* result);

// The five characters of a SQLSTATE in a verbose message ("FATAL:  28P01: …"), or "".
std::string_view SqlstateIn(std::string_view verbose_message);

// The server function in a verbose message, or "".
std::string_view FunctionIn(std::string_view verbose_message);

// Formats a message as one line, without SQLSTATE and LOCATION, escaped.
// Joins several lines with "; ". The server's message may contain any bytes.
std::string Readable(std::string_view message);

}  // namespace walrelay
