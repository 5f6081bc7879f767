#include "base/process_memory.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <string_view>

// A function of jemalloc: absent unless the program is linked with it.
extern "C" int mallctl(const char* name, void* old_value, size_t* old_size, void* new_value,
                       size_t new_size) __attribute__((weak));

namespace walrelay {
namespace {

// The counter of this thread; nullptr without one.
const uint64_t* AllocationCounter() {
  uint64_t* counter = nullptr;
  size_t size = sizeof(counter);
  const bool found =
      mallctl != nullptr && mallctl("thread.allocatedp", &counter, &size, nullptr, 0) == 0;
  return found ? counter : nullptr;
}

// "max", which is not a number, is the content without a limit; version 1 has a number beyond any
// machine's memory for that.
void TakeLimit(const std::string& file, std::optional<uint64_t>& lowest) {
  constexpr uint64_t kNoLimit = uint64_t{1} << 60;
  std::ifstream in(file);
  uint64_t limit = 0;
  if (in >> limit && limit < kNoLimit) {
    lowest = std::min(lowest.value_or(limit), limit);
  }
}

// The group and those above it: each limits what is below.
void TakeLimits(const std::string& mount, std::string_view group, std::string_view file,
                std::optional<uint64_t>& lowest) {
  while (true) {
    TakeLimit(fmt::format("{}{}/{}", mount, group, file), lowest);
    if (group.empty()) {
      return;
    }
    group = group.substr(0, group.rfind('/'));
  }
}

}  // namespace

std::optional<uint64_t> MemoryLimit(const std::string& root) {
  std::ifstream groups(root + "proc/self/cgroup");
  std::optional<uint64_t> lowest;
  // "0::/a/b" of version 2, "4:memory:/a/b" of version 1. Inside a container the mount may have
  // only the container's own group, at its top.
  for (std::string line; std::getline(groups, line);) {
    const size_t first = line.find(':');
    const size_t second = line.find(':', first + 1);
    if (second == std::string::npos) {
      continue;
    }
    const std::string_view controllers =
        std::string_view(line).substr(first + 1, second - first - 1);
    const std::string_view path = std::string_view(line).substr(second + 1);
    const std::string_view group = path == "/" ? "" : path;
    if (controllers.empty()) {
      TakeLimits(root + "sys/fs/cgroup", group, "memory.max", lowest);
    } else if (controllers == "memory") {
      TakeLimits(root + "sys/fs/cgroup/memory", group, "memory.limit_in_bytes", lowest);
    }
  }
  return lowest;
}

uint64_t AllocatedByThread() {
  thread_local const uint64_t* const counter = AllocationCounter();
  return counter != nullptr ? *counter : 0;
}

uint64_t ResidentMemory() {
  std::ifstream statm("/proc/self/statm");
  uint64_t size = 0;
  uint64_t resident = 0;
  const long page = ::sysconf(_SC_PAGESIZE);
  return statm >> size >> resident ? resident * static_cast<uint64_t>(page) : 0;
}

}  // namespace walrelay
