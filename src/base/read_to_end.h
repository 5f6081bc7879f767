// Reads a file or a pipe.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

namespace walrelay {

// Reads `fd` to its end, at most `limit` bytes. One read() is not enough: a pipe returns only the
// data that it currently holds. nullopt, with errno, on a read error.
// Blocks as long as the other end of a pipe is open. `fd` stays open. Allocates `limit` bytes at
// once, so that a secret is never copied by growing; a caller that must notice a longer file passes
// one byte more than it accepts.
std::optional<std::string> ReadToEnd(int fd, size_t limit);

}  // namespace walrelay
