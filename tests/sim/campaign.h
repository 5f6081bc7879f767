// Campaign: many histories, on a few threads.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "coverage.h"
#include "plan.h"

namespace walrelay::sim {

struct CampaignOptions {
  uint64_t seed = 1;  // of the first history
  uint64_t histories = 1;
  unsigned threads = 2;
  bool twice = false;  // each history once more, which must be the same
};

struct Failure {
  uint64_t seed = 0;
  std::string violation;
  // "I3 order": which invariant it is.
  std::string invariant() const { return violation.substr(0, violation.find(':')); }
};

struct Tally {
  uint64_t histories = 0;
  uint64_t events = 0;
  uint64_t repeats = 0;
  Coverage coverage;
  std::optional<Failure> failure;
};

// Stops at the first that fails; of those under way then, the one with the least seed is told.
Tally RunCampaign(const CampaignOptions& options);

// One history; the violation, empty when there is none.
std::string RunPlan(const Plan& plan, bool trace);

// Shrinks the history of a failing seed and prints it as a trace.
void Explain(const Failure& failure);

}  // namespace walrelay::sim
