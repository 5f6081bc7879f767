// What `walrelay prune` prints.
//
// Pure functions.
#pragma once

#include <string>

#include "walrelay/config.h"
#include "walrelay/prune_action.h"
#include "walrelay/prune_status.h"

namespace walrelay {

// Several lines. Escaped for a terminal.
std::string PruneText(const PruneConfig& config, PruneAction action, const PruneOutcome& outcome);

// One line.
std::string PruneJson(PruneAction action, const PruneOutcome& outcome);

}  // namespace walrelay
