#include "base/read_to_end.h"

#include <unistd.h>

#include <cerrno>

namespace walrelay {

// errno is that of read() when it fails, for the caller's message.
std::optional<std::string> ReadToEnd(int fd, size_t limit) {
  std::string content(limit,
                      '\0');  // full size now: growing would leave copies of secrets in memory
  size_t size = 0;
  while (size < limit) {
    const ssize_t got = ::read(fd, content.data() + size, limit - size);
    if (got == 0) {
      break;
    }
    if (got > 0) {
      size += static_cast<size_t>(got);
    } else if (errno != EINTR) {
      return std::nullopt;
    }
  }
  content.resize(size);
  return content;
}

}  // namespace walrelay
