#include "mutant_table.h"

#include <fmt/format.h>

#include <cstdint>
#include <cstdio>
#include <optional>
#include <utility>

#include "mutant.h"

namespace walrelay::sim {
namespace {

struct WrongRelay {
  MutantId id;
  std::string_view name;
  std::string_view what;
  uint64_t seed;  // of the history that found it last; 0: unknown
};

constexpr WrongRelay kWrongRelays[] = {
#define WALRELAY_MUTANT(name, what, seed) {MutantId::k##name, #name, what, seed},
#include "mutants.def"
#undef WALRELAY_MUTANT
};

void PrintRow(const WrongRelay& wrong, const std::optional<Failure>& failure, uint64_t histories) {
  fmt::print(
      "| {} | {} | {} | {} |\n", wrong.name, wrong.what,
      failure ? failure->invariant() : "not found",
      failure ? fmt::format("seed {}", failure->seed) : fmt::format("{} histories", histories));
  std::fflush(stdout);
}

// Whether walrelay itself passes the history: if not, the mutant is not what has failed.
bool Passes(uint64_t seed) {
  const MutantId mutant = std::exchange(selected_mutant, MutantId::kNone);
  const bool passes = RunPlan(MakePlan(seed), /*trace=*/false).empty();
  selected_mutant = mutant;
  return passes;
}

// The first failure that is the mutant's.
std::optional<Failure> FirstFailure(CampaignOptions options) {
  const uint64_t end = options.seed + options.histories;
  std::optional<Failure> failure = RunCampaign(options).failure;
  while (failure && !Passes(failure->seed)) {
    options.seed = failure->seed + 1;
    options.histories = end - options.seed;
    failure = RunCampaign(options).failure;
  }
  return failure;
}

// Few histories find some mutants: the one that found it last runs first.
std::optional<Failure> Search(const WrongRelay& wrong, const CampaignOptions& options) {
  if (wrong.seed != 0) {
    if (auto failure = FirstFailure({.seed = wrong.seed, .threads = 1})) {
      return failure;
    }
  }
  return FirstFailure(options);
}

}  // namespace

bool PrintMutantTable(const CampaignOptions& options, std::string_view only, bool explain) {
  fmt::print("| mutant | what it does | found by | in |\n");
  fmt::print("| --- | --- | --- | --- |\n");
  int tried = 0;
  int found = 0;
  for (const WrongRelay& wrong : kWrongRelays) {
    if (!only.empty() && only != wrong.name) {
      continue;
    }
    selected_mutant = wrong.id;
    const std::optional<Failure> failure = Search(wrong, options);
    PrintRow(wrong, failure, options.histories);
    if (failure && explain) {
      Explain(*failure);
    }
    ++tried;
    found += failure ? 1 : 0;
  }
  selected_mutant = MutantId::kNone;
  fmt::print("\n{} of {} wrong relays were found\n", found, tried);
  return tried > 0 && found == tried;
}

}  // namespace walrelay::sim
