// SetupPlan: what a database lacks for walrelay, as statements in the order in which they must run.
//
// The order matters. Postgres looks up the publication as of the WAL position that it decodes; with
// a slot older than its publication, decoding fails at the first change, or on Postgres 18 skips
// rows. The publication is therefore created first, and a slot without a publication is an error.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "postgres/connection.h"
#include "setup/platform.h"
#include "setup/setup_options.h"

namespace walrelay {

struct SourceConfig;

// Statements that take effect together or not at all, with what they are for.
struct SetupStep {
  std::string what;  // "publication \"walrelay\""
  std::string sql;
  std::vector<std::string> needs = {};  // `what` of the steps that must have been executed
  bool secret = false;                  // the SQL holds a password's hash: it is not displayed
  bool creates_slot = false;
};

// `platform`: the one of the options, or the one found.
struct SetupPlan {
  std::vector<SetupStep> steps;  // in order; empty if the database is ready
  const Platform* platform = nullptr;
};

// The missing steps. Errors: WR-2302 for a table that does not exist and is not to be created,
// WR-2008 if no slot can be created, WR-2306 for a slot older than its publication, and errors of
// the queries. Changes nothing. The steps are for the database as it is now: run them before
// anything else changes it. A role that exists gets only what it lacks: the replication privilege,
// and the password of the options. The password is hashed here, as psql's \password does: the
// server, and its log, receive the hash.
absl::StatusOr<SetupPlan> PlanSetup(PgConnection& connection, const SourceConfig& source,
                                    const SetupOptions& options);

}  // namespace walrelay
