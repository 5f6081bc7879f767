// Mutants: deliberate defects in the relay, which the simulator must detect (tests/sim).
//
// `if (Mutant(MutantId::kX))` encloses the smallest code that is wrong. Outside the simulator's
// build of the core, Mutant() is a constant and the defect is not compiled.
#pragma once

#include <cstdint>

namespace walrelay {

enum class MutantId : uint8_t {
  kNone,
#define WALRELAY_MUTANT(name, what) k##name,
#include "base/mutants.def"
#undef WALRELAY_MUTANT
};

#ifdef WALRELAY_MUTANTS
// Set before any relay runs; constant while one runs.
inline MutantId selected_mutant = MutantId::kNone;
inline bool Mutant(MutantId id) {
  return selected_mutant == id;
}
#else
constexpr bool Mutant(MutantId /*id*/) {
  return false;
}
#endif

}  // namespace walrelay
