// Reads [[source.placement]]: column, to, as.
#pragma once

#include <vector>

#include "config/file_problems.h"
#include "config/toml_library.h"
#include "walrelay/config/outbox_table.h"

namespace walrelay {

// The placements of the array `node`. A placement with an error may lack values.
std::vector<Placement> ReadPlacements(const toml::node& node, FileProblems& problems);

}  // namespace walrelay
