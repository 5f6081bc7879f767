// What operator new has given out, of the whole test binary: to show that a loop allocates nothing,
// and that what a cache keeps is bounded. Counts all threads.
#pragma once

#include <cstddef>
#include <cstdint>

namespace walrelay::testing {

uint64_t Allocations();  // calls so far
size_t LiveBytes();      // given out and not given back
size_t StartPeak();      // forgets the peak; LiveBytes()
size_t Peak();           // the most bytes that were live at once since StartPeak()

// The allocations of a call.
template <typename Call>
uint64_t AllocationsDuring(const Call& call) {
  const uint64_t before = Allocations();
  call();
  return Allocations() - before;
}

// The most bytes that a call has live at once, beyond those that were before.
template <typename Call>
size_t PeakBytesDuring(const Call& call) {
  const size_t before = StartPeak();
  call();
  return Peak() - before;
}

}  // namespace walrelay::testing
