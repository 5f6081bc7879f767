// Prepares a database for walrelay: publication, then slot, and a role.
//
// The order matters. Postgres looks up the publication as of the WAL position that it decodes; with
// a slot older than its publication, decoding fails at the first change, or on Postgres 18 skips
// rows. The publication is therefore created first, and a slot without a publication is an error.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "postgres/connection.h"
#include "walrelay/config.h"

namespace walrelay {

// What `walrelay setup` was asked to do.
struct SetupOptions {
  bool create_table = false;  // create the outbox tables that do not exist
  std::string role;           // create this role, with its privileges; "": none
  bool failover = false;      // Postgres 17+: a slot that is synchronized to standbys
};

// One statement, with what it is for. Each can be run on its own.
struct SetupStep {
  std::string what;  // "publication \"walrelay\""
  std::string sql;
};

// All statements for an empty database, in order, as a script with comments.
// Pure: does not look at the database. The role is "walrelay" if none is given.
std::string SetupScript(const SourceConfig& source, const SetupOptions& options);

// The missing steps, in order; empty if the database is ready. Errors: WR-2302 for a table that
// does not exist and is not to be created, WR-2306 for a slot older than its publication, and
// errors of the queries.
// Changes nothing. The steps are for the database as it is now: run them before anything else
// changes it. A role that exists is left as it is.
absl::StatusOr<std::vector<SetupStep>> PlanSetup(PgConnection& connection,
                                                 const SourceConfig& source,
                                                 const SetupOptions& options);

// Drops the slot and the publication, but not the table.
// What does not exist is no error. A slot in use is (WR-2102). The slot is dropped first, so that
// no WAL is retained if the second statement fails.
absl::Status UndoSetup(PgConnection& connection, const SourceConfig& source);

}  // namespace walrelay
