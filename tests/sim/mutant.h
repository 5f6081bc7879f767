// Mutants: deliberate defects in the relay, which the simulator must detect. tests/sim/mutants
// describes them; generate.py writes the edited copy of the core and mutants.def.
#pragma once

#include <cstdint>

namespace walrelay::sim {

enum class MutantId : uint8_t {
  kNone,
#define WALRELAY_MUTANT(name, defect, seed) k##name,
#include "mutants.def"
#undef WALRELAY_MUTANT
};

// Set before any relay runs; constant while one runs.
inline MutantId selected_mutant = MutantId::kNone;

inline bool Mutant(MutantId id) {
  return selected_mutant == id;
}

}  // namespace walrelay::sim
