// Checks of everything that decides whether a stream can start: server, publication, tables, slot.
#pragma once

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "findings/findings.h"
#include "postgres/connection.h"
#include "walrelay/replication_source.h"

namespace walrelay {

struct FormatConfig;
struct RouteConfig;
struct SourceConfig;

// Returns what was read. An error is a failed query, for example IDENTIFY_SYSTEM on a connection
// that is not a replication connection; the findings are in `out`. REQUIRES: `connection` is a
// replication connection that does not stream. Uses the relay's own functions (BindTable(),
// PublicationProblems(), DecideStart()), so that doctor cannot accept what the relay rejects.
// Depth::kStart adds slot.in_use; at kAll CheckSlot() reports the reader.
absl::StatusOr<SourceInfo> CheckSource(PgConnection& connection, const SourceConfig& source,
                                       const RouteConfig& route, const FormatConfig& format,
                                       Depth depth, Findings& out);

// The error of a refused connection. If the role's privilege or the line in pg_hba.conf is missing,
// its remedy names role and database.
// Returns `error` unchanged for all other errors, and if the parameters of `source` do not name a
// user.
absl::Status WithExactRemedy(const absl::Status& error, const SourceConfig& source);

}  // namespace walrelay
