// The mutants, and the invariants that find them.
#pragma once

#include <string_view>

#include "campaign.h"

namespace walrelay::sim {

// Runs a campaign with each mutant (or the one named `only`), and prints which invariant found it
// by which seed. Returns true when every mutant was found.
bool PrintMutantTable(const CampaignOptions& options, std::string_view only, bool explain);

}  // namespace walrelay::sim
