// WorkerThread: a thread that takes turns, rests between them, and ends with its owner.
//
// Make it the last member of its owner: the thread uses the others, and ends before them.
#pragma once

#include <poll.h>

#include <chrono>
#include <functional>
#include <thread>

#include "base/check.h"
#include "base/log.h"
#include "base/stop_request.h"
#include "walrelay/clock.h"

namespace walrelay {

class WorkerThread {
 public:
  WorkerThread() = default;
  // Requests the end, and waits for it.
  ~WorkerThread() {
    stop_.Request();
    if (thread_.joinable()) {
      thread_.join();
    }
  }

  WorkerThread(const WorkerThread&) = delete;
  WorkerThread& operator=(const WorkerThread&) = delete;

  // Its log lines are of the caller's pipeline. REQUIRES: not started.
  void Start(std::function<void()> body) {
    WR_CHECK(!thread_.joinable(), "one thread runs");
    thread_ = std::thread(InLogScope(std::move(body)));
  }

  // On the thread: waits. False: the thread must end.
  bool Rest(Micros duration) const {
    pollfd polled{stop_.fd(), POLLIN, 0};
    const auto time = std::chrono::ceil<std::chrono::milliseconds>(duration);
    return ::poll(&polled, 1, static_cast<int>(time.count())) <= 0;  // a signal only shortens it
  }
  // Readable when the thread must end: interrupts what it waits for.
  int stop_fd() const { return stop_.fd(); }

 private:
  StopRequest stop_;
  std::thread thread_;
};

}  // namespace walrelay
