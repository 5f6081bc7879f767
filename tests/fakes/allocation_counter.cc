// Replaces the global operator new of the test binary in every form that is in use. A sanitizer
// provides its own version of every form that is missing here.
#include "fakes/allocation_counter.h"

#include <malloc.h>

#include <atomic>
#include <cstdlib>
#include <new>

namespace walrelay::testing {
namespace {

std::atomic<uint64_t> allocations = 0;
std::atomic<size_t> live_bytes = 0;
std::atomic<size_t> peak_bytes = 0;  // maximum of live_bytes since StartPeak()

void* Counted(void* memory) {
  if (memory == nullptr) {
    std::abort();
  }
  allocations.fetch_add(1, std::memory_order_relaxed);
  const size_t size = malloc_usable_size(memory);
  const size_t live = live_bytes.fetch_add(size, std::memory_order_relaxed) + size;
  size_t peak = peak_bytes.load(std::memory_order_relaxed);
  while (live > peak && !peak_bytes.compare_exchange_weak(peak, live)) {
  }
  return memory;
}

void* AlignedAlloc(size_t size, std::align_val_t alignment) {
  const auto align = static_cast<size_t>(alignment);
  return std::aligned_alloc(align, (size + align - 1) / align * align);
}

void Return(void* memory) {
  live_bytes.fetch_sub(malloc_usable_size(memory), std::memory_order_relaxed);
  std::free(memory);
}

}  // namespace

uint64_t Allocations() {
  return allocations.load(std::memory_order_relaxed);
}
size_t LiveBytes() {
  return live_bytes.load(std::memory_order_relaxed);
}

size_t StartPeak() {
  const size_t live = LiveBytes();
  peak_bytes.store(live, std::memory_order_relaxed);
  return live;
}
size_t Peak() {
  return peak_bytes.load(std::memory_order_relaxed);
}

}  // namespace walrelay::testing

using walrelay::testing::AlignedAlloc;
using walrelay::testing::Counted;
using walrelay::testing::Return;

void* operator new(size_t size) {
  return Counted(std::malloc(size));
}
void* operator new[](size_t size) {
  return Counted(std::malloc(size));
}
void* operator new(size_t size, const std::nothrow_t&) noexcept {
  return Counted(std::malloc(size));
}
void* operator new[](size_t size, const std::nothrow_t&) noexcept {
  return Counted(std::malloc(size));
}
void* operator new(size_t size, std::align_val_t align) {
  return Counted(AlignedAlloc(size, align));
}
void* operator new[](size_t size, std::align_val_t align) {
  return Counted(AlignedAlloc(size, align));
}

void operator delete(void* memory) noexcept {
  Return(memory);
}
void operator delete[](void* memory) noexcept {
  Return(memory);
}
void operator delete(void* memory, size_t) noexcept {
  Return(memory);
}
void operator delete[](void* memory, size_t) noexcept {
  Return(memory);
}
void operator delete(void* memory, std::align_val_t) noexcept {
  Return(memory);
}
void operator delete[](void* memory, std::align_val_t) noexcept {
  Return(memory);
}
void operator delete(void* memory, size_t, std::align_val_t) noexcept {
  Return(memory);
}
void operator delete[](void* memory, size_t, std::align_val_t) noexcept {
  Return(memory);
}
