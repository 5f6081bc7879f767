// WorkerThread: a thread that takes turns, rests between them, and ends with its owner.
//
// Make it the last member of its owner: the thread uses the others, and ends before them.
//
// Threads: the destructor and Start() on the owner's thread, Wake() and Stop() on any, Rest() on
// the thread itself.
#pragma once

#include <poll.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <functional>
#include <iterator>
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
    Stop();
    if (thread_.joinable()) {
      thread_.join();
    }
  }

  WorkerThread(const WorkerThread&) = delete;
  WorkerThread& operator=(const WorkerThread&) = delete;

  // Its log lines name the caller's pipeline. REQUIRES: not started.
  void Start(std::function<void()> body) {
    WR_CHECK(!thread_.joinable(), "one thread runs");
    thread_ = std::thread(InLogScope(std::move(body)));
  }

  // Requests the end; does not wait for it.
  void Stop() { stop_.Request(); }
  // Ends the present rest, or the next one. Never blocks.
  void Wake() { wake_.Request(); }

  // Waits for `duration`, which may have passed already, or until Wake() is called. False: the
  // thread must end.
  bool Rest(Micros duration) {
    const auto end = std::chrono::steady_clock::now() + duration;
    pollfd events[] = {{stop_.fd(), POLLIN, 0}, {wake_.fd(), POLLIN, 0}};
    int ready = -1;
    do {  // again after a signal
      const auto left = std::chrono::ceil<std::chrono::milliseconds>(std::max<Micros>(
          std::chrono::duration_cast<Micros>(end - std::chrono::steady_clock::now()), Micros(0)));
      ready = ::poll(events, std::size(events), static_cast<int>(left.count()));
    } while (ready < 0 && errno == EINTR);
    while (wake_.Take()) {  // several calls of Wake() end one rest
    }
    return events[0].revents == 0;
  }
  // Readable when the thread must end: interrupts what it waits for.
  int stop_fd() const { return stop_.fd(); }

 private:
  StopRequest stop_;
  StopRequest wake_;
  std::thread thread_;
};

}  // namespace walrelay
