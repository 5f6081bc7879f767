// Mutants: wrong relays on purpose, for the simulator to find (tests/sim).
//
// A switch is `if (Mutant(MutantId::kX))` around the smallest wrong thing. Outside of the
// simulator's own build of the core Mutant() is a constant and the wrong branch is not compiled.
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
// Set before any relay runs, and not changed while one does.
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
