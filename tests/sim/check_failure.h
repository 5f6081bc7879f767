// CheckFailure: what a WR_CHECK that does not hold becomes in the simulator, where a process cannot
// just abort: the end of the history.
#pragma once

#include <string>

namespace walrelay::sim {

struct CheckFailure {
  std::string what;
};

}  // namespace walrelay::sim
