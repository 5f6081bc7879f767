// Prepares a database for walrelay: publication, then slot, and a role with its password.
//
// The order matters. Postgres looks up the publication as of the WAL position that it decodes; with
// a slot older than its publication, decoding fails at the first change, or on Postgres 18 skips
// rows. The publication is therefore created first, and a slot without a publication is an error.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "postgres/connection.h"
#include "postgres/platform.h"
#include "walrelay/clock.h"
#include "walrelay/config.h"
#include "walrelay/partition_period.h"
#include "walrelay/secret.h"

namespace walrelay {

// A table to create that is partitioned by its time column: for the periods from `now` on.
struct NewPartitions {
  PartitionPeriod period = PartitionPeriod::kDaily;
  WallTime now;
};

// What `walrelay setup` was asked to do.
struct SetupOptions {
  bool create_table = false;                // create the outbox tables that do not exist
  std::optional<NewPartitions> partitions;  // of the tables that are created
  std::string role;                         // create this role, with its privileges; "": none
  Secret password;                          // of the role, also if it exists; empty: not set
  bool failover = false;                    // Postgres 17+: a slot that is synchronized to standbys
  PruneConfig prune;                        // the role gets the privileges for it
  // nullptr: PlanSetup() determines it from the roles of the server.
  const Platform* platform = nullptr;
};

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

// The steps that were executed, and those that were not because a privilege is missing.
// `reasons`: why, for each missing step, in the words of the server; "" if only a step before it is
// missing.
struct SetupOutcome {
  std::vector<SetupStep> done;
  std::vector<SetupStep> missing;
  std::vector<std::string> reasons;
};

// All statements for an empty database, in order, as a script with comments.
// Pure: does not look at the database. The role is "walrelay" if none is given.
std::string SetupScript(const SourceConfig& source, const SetupOptions& options);

// The missing steps. Errors: WR-2302 for a table that
// does not exist and is not to be created, WR-2008 if no slot can be created, WR-2306 for a slot
// older than its publication, and errors of the queries. Changes nothing. The steps are for the
// database as it is now: run them before anything else changes it. A role that exists gets only
// what it lacks: the replication privilege, and the password of the options. The password is hashed
// here, as psql's \\password does: the server, and its log, receive the hash.
absl::StatusOr<SetupPlan> PlanSetup(PgConnection& connection, const SourceConfig& source,
                                    const SetupOptions& options);

// Executes the steps, each in a transaction of its own: a slot cannot be created in one that has
// written. A step for which the role lacks a privilege is left out, with those that need it; every
// other error ends the execution and is returned, annotated with the step. What was executed
// remains.
absl::StatusOr<SetupOutcome> ExecuteSetup(PgConnection& connection, const SetupPlan& plan);

// The missing steps as a script for an administrator, with comments.
std::string MissingScript(const SetupOutcome& outcome, const Platform& platform,
                          std::string_view role, std::string_view database);

// Drops the slot and the publication, but not the table.
// What does not exist is no error. A slot in use is (WR-2102). The slot is dropped first, so that
// no WAL is retained if the second statement fails.
absl::Status UndoSetup(PgConnection& connection, const SourceConfig& source);

}  // namespace walrelay
