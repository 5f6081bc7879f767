// Compares walrelay's output with the expectation of a case.
#pragma once

#include <string>
#include <vector>

#include "conformance/case_file.h"

namespace walrelay::conformance {

struct Verdict {
  std::string problem;  // "": as expected, or as deviations.def allows
  bool deviates = false;
};

// `rows`: the earlier cases of the sequence, then the case itself.
Verdict Judge(const std::vector<const Case*>& rows);

}  // namespace walrelay::conformance
