// Checks of [prune]: privileges and columns, and with mode "drop" the partitions.
#pragma once

#include "absl/status/status.h"
#include "findings/findings.h"
#include "postgres/connection.h"

namespace walrelay {

struct PruneConfig;
struct SourceConfig;

// `connection`: with the login of PruneLogin(). Changes nothing. An error is a failed query; the
// findings are in `out`. REQUIRES: the mode is not kOff.
absl::Status CheckPruning(PgConnection& connection, const SourceConfig& source,
                          const PruneConfig& prune, Findings& out);

}  // namespace walrelay
