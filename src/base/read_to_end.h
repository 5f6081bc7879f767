// Reads a file that may as well be a pipe.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

namespace walrelay {

// What `fd` gives until its end, `limit` bytes of it at most. One read() is not enough: a pipe
// gives what is in it at the moment. nullopt, with errno, when it cannot be read.
std::optional<std::string> ReadToEnd(int fd, size_t limit);

}  // namespace walrelay
