// The memory of this process, and how much it may have. Thread-safe.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace walrelay {

// The smallest memory limit of the control groups that this process is in, in bytes; nullopt: none
// is set, or none can be read. A container and a unit with MemoryMax= have one: the kernel kills a
// process that exceeds it.
// Reads the kernel's files at each call. `root`: "/" in production. Source: Linux,
// Documentation/admin-guide/cgroup-v2.rst ("memory.max"), cgroup-v1/memory.rst
// ("memory.limit_in_bytes"), cgroups(7) ("/proc/[pid]/cgroup").
std::optional<uint64_t> MemoryLimit(const std::string& root = "/");

// The resident memory of this process, in bytes; 0 if it cannot be read. Source: proc(5),
// "/proc/[pid]/statm".
uint64_t ResidentMemory();

// The bytes that the calling thread has ever allocated, in the sizes of the allocator; 0 at all
// times unless the allocator is jemalloc. Source: jemalloc(3), "thread.allocatedp".
uint64_t AllocatedByThread();

}  // namespace walrelay
