// Compares what walrelay does with what a case expects.
#pragma once

#include <string>
#include <vector>

#include "conformance/case_file.h"

namespace walrelay::conformance {

struct Verdict {
  std::string problem;  // "": as expected, or as the table of deviations says
  bool deviates = false;
};

// `rows` are the case and, before it, those of its sequence.
Verdict Judge(const std::vector<const Case*>& rows);

}  // namespace walrelay::conformance
