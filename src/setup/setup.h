// Executes a SetupPlan, and removes what it has created.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "postgres/connection.h"
#include "setup/platform.h"
#include "setup/setup_plan.h"

namespace walrelay {

struct SourceConfig;

// The steps that were executed, and those that were not because a privilege is missing.
// `reasons`: why, for each missing step, in the words of the server; "" if only a step before it is
// missing.
struct SetupOutcome {
  std::vector<SetupStep> done;
  std::vector<SetupStep> missing;
  std::vector<std::string> reasons;
};

// Executes the steps, each in a transaction of its own: a slot cannot be created in one that has
// written. A step for which the role lacks a privilege is left out, with those that need it; every
// other error ends the execution and is returned, annotated with the step. The steps that were
// executed are not undone.
absl::StatusOr<SetupOutcome> ExecuteSetup(PgConnection& connection, const SetupPlan& plan);

// The missing steps as a script for an administrator, with comments.
std::string MissingScript(const SetupOutcome& outcome, const Platform& platform,
                          std::string_view role, std::string_view database);

// Drops the slot and the publication, but not the table.
// It is not an error if the slot or the publication does not exist. A slot in use is an error
// (WR-2102). The slot is dropped first, so that no WAL is retained if the second statement fails.
absl::Status UndoSetup(PgConnection& connection, const SourceConfig& source);

}  // namespace walrelay
