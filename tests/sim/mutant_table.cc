#include "mutant_table.h"

#include <fmt/format.h>

#include <cstdint>
#include <cstdio>
#include <optional>

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

void PrintRow(const WrongRelay& wrong, const Tally& tally) {
  const auto& failure = tally.failure;
  fmt::print("| {} | {} | {} | {} |\n", wrong.name, wrong.what,
             failure ? failure->invariant() : "not found",
             failure ? fmt::format("seed {}", failure->seed)
                     : fmt::format("{} histories", tally.histories));
  std::fflush(stdout);
}

// Few histories find some mutants: the one that found it last runs first.
Tally Search(const WrongRelay& wrong, const CampaignOptions& options) {
  if (wrong.seed != 0) {
    const Tally tally = RunCampaign({.seed = wrong.seed, .threads = 1});
    if (tally.failure) {
      return tally;
    }
  }
  return RunCampaign(options);
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
    const Tally tally = Search(wrong, options);
    PrintRow(wrong, tally);
    if (tally.failure && explain) {
      Explain(*tally.failure);
    }
    ++tried;
    found += tally.failure ? 1 : 0;
  }
  selected_mutant = MutantId::kNone;
  fmt::print("\n{} of {} wrong relays were found\n", found, tried);
  return tried > 0 && found == tried;
}

}  // namespace walrelay::sim
