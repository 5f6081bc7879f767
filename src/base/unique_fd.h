// UniqueFd: owns one file descriptor and closes it.
#pragma once

#include <unistd.h>

#include <utility>

namespace walrelay {

// Movable, not copyable. -1: none.
class UniqueFd {
 public:
  UniqueFd() = default;
  explicit UniqueFd(int fd) : fd_(fd) {}
  UniqueFd(UniqueFd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  UniqueFd& operator=(UniqueFd&& other) noexcept {
    reset(std::exchange(other.fd_, -1));
    return *this;
  }
  ~UniqueFd() { reset(); }

  // Still owned here: the caller must not close it.
  int get() const { return fd_; }
  bool valid() const { return fd_ >= 0; }
  // Closes the present descriptor, if any, and takes `fd`.
  void reset(int fd = -1) {
    if (fd_ >= 0) {
      ::close(fd_);
    }
    fd_ = fd;
  }

 private:
  int fd_ = -1;
};

}  // namespace walrelay
