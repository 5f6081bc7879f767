// Campaign: runs many histories on a few threads.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "coverage.h"
#include "scenario.h"

namespace walrelay::sim {

struct CampaignOptions {
  uint64_t seed = 1;  // of the first history
  uint64_t histories = 1;
  unsigned threads = 2;
  bool twice = false;  // runs each history twice and compares the digests
};

struct Failure {
  uint64_t seed = 0;
  std::string violation;
  // The name of the violated invariant, such as "I3 order".
  std::string invariant() const { return violation.substr(0, violation.find(':')); }
};

struct Tally {
  uint64_t histories = 0;
  uint64_t events = 0;
  uint64_t repeats = 0;
  uint64_t digest = 0;  // of all histories, independent of the order in which threads ran them
  Coverage coverage;
  std::optional<Failure> failure;
};

// Stops at the first failure. Of the failures found until all threads stop, the lowest seed is
// kept.
Tally RunCampaign(const CampaignOptions& options);

// Runs one history. Returns the violation, or an empty string.
std::string RunPlan(const Scenario& scenario, bool trace);

// Shrinks the scenario of a failing seed and prints its trace.
void Explain(const Failure& failure);

}  // namespace walrelay::sim
