// When a commit becomes visible: synchronous standbys, and source.wait_visible.
#pragma once

#include "absl/status/status.h"
#include "doctor/findings.h"
#include "postgres/connection.h"
#include "walrelay/config.h"

namespace walrelay {

// On an ordinary connection with the relay's parameters. An error is a failed query; the findings
// are in `out`.
absl::Status CheckVisibility(PgConnection& connection, const Config& config, Findings& out);

}  // namespace walrelay
