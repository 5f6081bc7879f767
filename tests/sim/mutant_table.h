// The wrong relays, and who finds them.
#pragma once

#include <string_view>

#include "campaign.h"

namespace walrelay::sim {

// Lets each wrong relay (or the one named `only`) live through a campaign and prints which
// invariant found it, after how many histories. True when none survived.
bool PrintMutantTable(const CampaignOptions& options, std::string_view only, bool explain);

}  // namespace walrelay::sim
