// Reports the roles that can publish events as logical messages.
#pragma once

#include "findings/findings.h"
#include "postgres/connection.h"

namespace walrelay {

struct RouteConfig;
struct SourceConfig;

// On an ordinary connection, with no privilege beyond LOGIN. Adds no finding if messages are not
// events. An error is a failed query.
// REQUIRES: Postgres 14 or later, if messages are events (CheckMessages() reports older servers).
// Superusers are not listed: they can always write messages.
absl::Status CheckMessageWriters(PgConnection& connection, const SourceConfig& source,
                                 const RouteConfig& route, Findings& out);

}  // namespace walrelay
