// The output of `walrelay prune`.
//
// Pure functions.
#pragma once

#include <string>

#include "prune/prune_action.h"
#include "prune/prune_status.h"

namespace walrelay {

struct PruneConfig;

// Several lines. Escaped for a terminal.
std::string PruneText(const PruneConfig& config, PruneAction action, const PruneOutcome& outcome);

// One line.
std::string PruneJson(PruneAction action, const PruneOutcome& outcome);

}  // namespace walrelay
