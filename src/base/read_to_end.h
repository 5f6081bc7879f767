// Reads a file or a pipe.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

namespace walrelay {

// Reads `fd` to its end, at most `limit` bytes. One read() is not enough: a pipe returns only the
// data that it currently holds. nullopt, with errno, on a read error.
std::optional<std::string> ReadToEnd(int fd, size_t limit);

}  // namespace walrelay
