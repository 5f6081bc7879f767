// What operator new has given out, of the whole test binary: to show that a loop allocates nothing,
// and that what a cache keeps is bounded. Counts all threads.
#pragma once

#include <cstddef>
#include <cstdint>

namespace walrelay::testing {

uint64_t Allocations();  // calls so far
size_t LiveBytes();      // given out and not given back

// The allocations of a call.
template <typename Call>
uint64_t AllocationsDuring(const Call& call) {
  const uint64_t before = Allocations();
  call();
  return Allocations() - before;
}

}  // namespace walrelay::testing
