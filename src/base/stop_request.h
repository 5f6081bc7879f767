// StopRequest: asks a thread to stop, through a descriptor that the thread can poll.
//
// Threads: Request() from any thread; Take() on the thread that is asked.
#pragma once

#include <sys/eventfd.h>

#include <atomic>

#include "base/check.h"
#include "base/unique_fd.h"

namespace walrelay {

// Requests are counted: what a second one means is decided by the thread that takes them.
class StopRequest {
 public:
  StopRequest() : fd_(eventfd(0, EFD_SEMAPHORE | EFD_NONBLOCK | EFD_CLOEXEC)) {
    WR_CHECK(fd_.valid(), "the kernel has eventfd");
  }

  // Never blocks.
  void Request() {
    pending_.fetch_add(1, std::memory_order_release);
    WR_CHECK(eventfd_write(fd_.get(), 1) == 0, "the counter of an eventfd has room");
  }
  // Consumes one request; false if there is none. Never blocks, and makes no system call without a
  // request: it may be called in each turn of a busy loop.
  bool Take() {
    eventfd_t one = 0;
    if (pending_.load(std::memory_order_acquire) == 0 || eventfd_read(fd_.get(), &one) != 0) {
      return false;
    }
    pending_.fetch_sub(1, std::memory_order_relaxed);
    return true;
  }
  // Readable while a request is pending; used to interrupt a blocking connect. Owned by this
  // object: do not read it, and do not close it.
  int fd() const { return fd_.get(); }

 private:
  const UniqueFd fd_;
  std::atomic<unsigned> pending_{0};  // never less than the counter of the descriptor
};

}  // namespace walrelay
