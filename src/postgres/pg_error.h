// Maps errors of Postgres and libpq to error codes.
//
// The SQLSTATE decides, not the text, because texts are translated and reworded. While connecting,
// libpq provides only a text; the connection then requests the verbose form, which contains the
// SQLSTATE. Errors about a slot that the SQLSTATE alone does not determine: slot_error.h.
#pragma once

#include <libpq-fe.h>

#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "walrelay/error.h"

namespace walrelay {

// The error of a connection attempt that failed.
// Without a SQLSTATE: WR-2016 if the server's certificate was not accepted, WR-1006 if the server
// has no TLS, otherwise WR-2001, the server was not reached.
absl::Status ConnectError(const PGconn* connection);

// The error of a command that failed.
// By the SQLSTATE; WR-2012 for one that has no row in the table, WR-2005 if there is none.
// REQUIRES: `connection` is the one that returned `result`.
absl::Status ResultError(const PGconn* connection, const PGresult* result);

// The error with which the server ended a stream. If decoding reports an undefined object (42704),
// it is the publication, because the slot was found before.
// WR-2306 for that case.
absl::Status StreamError(const PGconn* connection, const PGresult* result);

// The five characters of a SQLSTATE in a verbose message ("FATAL:  28P01: …"), or "".
std::string_view SqlstateIn(std::string_view verbose_message);

// Formats a message as one line, without SQLSTATE and LOCATION, escaped.
// Several lines are joined by "; ". What the server sent may contain any bytes.
std::string Readable(std::string_view message);

}  // namespace walrelay
