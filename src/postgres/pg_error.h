// From what Postgres and libpq say to a code of ours.
//
// Decided by SQLSTATE, not by text: texts are translated and reworded. During the connection libpq
// gives only a text; there the connection asks for the verbose form, which holds the SQLSTATE.
#pragma once

#include <libpq-fe.h>

#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "walrelay/error.h"

namespace walrelay {

// Of a connection that could not be made.
absl::Status ConnectError(const PGconn* connection);

// Of a command that failed, or of a stream that the server ended with an error.
absl::Status ResultError(const PGconn* connection, const PGresult* result);

// The five characters of a SQLSTATE in a verbose message ("FATAL:  28P01: …"), or "".
std::string_view SqlstateIn(std::string_view verbose_message);

// One line for people: no SQLSTATE, no LOCATION, escaped.
std::string Readable(std::string_view message);

}  // namespace walrelay
