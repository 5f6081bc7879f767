// From what Postgres and libpq say to a code of ours.
//
// Decided by SQLSTATE, not by text: texts are translated and reworded. While it connects libpq
// gives only a text; there the connection asks for the verbose form, which holds the SQLSTATE. What
// a SQLSTATE alone does not decide about a slot: slot_error.h.
#pragma once

#include <libpq-fe.h>

#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "walrelay/error.h"

namespace walrelay {

// Of a connection that could not be made.
absl::Status ConnectError(const PGconn* connection);

// Of a command that failed.
absl::Status ResultError(const PGconn* connection, const PGresult* result);

// Of a stream that the server ended with an error. What decoding does not find (42704) is the
// publication: the slot was found before.
absl::Status StreamError(const PGconn* connection, const PGresult* result);

// The five characters of a SQLSTATE in a verbose message ("FATAL:  28P01: …"), or "".
std::string_view SqlstateIn(std::string_view verbose_message);

// One line for people: no SQLSTATE, no LOCATION, escaped.
std::string Readable(std::string_view message);

}  // namespace walrelay
