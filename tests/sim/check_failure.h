// CheckFailure: thrown by a failing WR_CHECK in the simulator. It ends the history instead of
// aborting the process.
#pragma once

#include <string>

namespace walrelay::sim {

struct CheckFailure {
  std::string what;
};

}  // namespace walrelay::sim
