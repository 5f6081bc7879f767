// Counts allocations through operator new in the whole test binary, in all threads: to show that a
// loop does not allocate, and that the size of a cache is bounded.
#pragma once

#include <cstddef>
#include <cstdint>

namespace walrelay::testing {

uint64_t Allocations();  // number of calls so far
size_t LiveBytes();      // allocated and not freed
size_t StartPeak();      // resets the peak; returns LiveBytes()
size_t Peak();           // maximum of LiveBytes() since StartPeak()

// Returns the number of allocations during `call`.
template <typename Call>
uint64_t AllocationsDuring(const Call& call) {
  const uint64_t before = Allocations();
  call();
  return Allocations() - before;
}

// Returns the peak of live bytes during `call`, minus the bytes that were live before.
template <typename Call>
size_t PeakBytesDuring(const Call& call) {
  const size_t before = StartPeak();
  call();
  return Peak() - before;
}

}  // namespace walrelay::testing
