// Who can publish events as logical messages.
#pragma once

#include "doctor/findings.h"
#include "postgres/connection.h"
#include "walrelay/config.h"

namespace walrelay {

// On an ordinary connection, with no privilege beyond LOGIN. Finds nothing where messages are no
// events, or the server has none. An error is one of asking.
absl::Status CheckMessageWriters(PgConnection& connection, const Config& config, Findings& out);

}  // namespace walrelay
