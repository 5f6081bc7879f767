// What a database needs before walrelay can run: publication, then slot, and a role to connect as.
//
// The order matters. Postgres looks the publication up as of the log that it decodes; a slot that
// is older than its publication fails at the first change, or on Postgres 18 skips rows. So the
// publication is made first, and a slot that is already there when the publication is not is
// refused.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "postgres/connection.h"
#include "walrelay/config.h"

namespace walrelay {

struct SetupOptions {
  bool create_table = false;  // make the outbox tables where they do not exist
  std::string role;           // make this role, or give it what it needs; "": none
  bool failover = false;      // Postgres 17+: a slot that is kept in step on standbys
};

struct SetupStep {
  std::string what;  // "publication \"walrelay\""
  std::string sql;
};

// Every statement for a database that has nothing yet, in order, as a script with comments.
std::string SetupScript(const SourceConfig& source, const SetupOptions& options);

// What is still missing in the database, in order; empty when it is ready. Errors: WR-2303 for a
// table that does not exist and is not to be made, WR-2306 for a slot older than its publication,
// and those of reading.
absl::StatusOr<std::vector<SetupStep>> PlanSetup(PgConnection& connection,
                                                 const SourceConfig& source,
                                                 const SetupOptions& options);

// Drops slot and publication; not the table.
absl::Status UndoSetup(PgConnection& connection, const SourceConfig& source);

}  // namespace walrelay
