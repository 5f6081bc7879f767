// RequestThread: a thread that serves the requests of its owner, and what the two share.
//
// `State` holds the requests that wait and the results that were not taken. Owner and thread change
// it under one lock, for a moment: whatever blocks is done without the lock. An eventfd tells the
// owner that a result has arrived. (WorkerThread is for a thread that acts by the clock.)
//
// Make it the last member of its owner: the thread uses the others, and ends before them.
//
// Threads: Start(), Ask() and the destructor on the owner's thread, Stop() and Access() on any,
// everything else on the thread itself.
#pragma once

#include <sys/eventfd.h>

#include <condition_variable>
#include <functional>
#include <mutex>
#include <optional>
#include <stop_token>
#include <thread>
#include <utility>

#include "base/check.h"
#include "base/log.h"
#include "walrelay/clock.h"

namespace walrelay {

template <typename State>
class RequestThread {
 public:
  // `wakeup_fd` must outlive it.
  explicit RequestThread(int wakeup_fd) : wakeup_fd_(wakeup_fd) {}
  // Requests the end, and waits for it.
  ~RequestThread() {
    Stop();
    if (thread_.joinable()) {
      thread_.join();
    }
  }

  RequestThread(const RequestThread&) = delete;
  RequestThread& operator=(const RequestThread&) = delete;

  // Its log lines name the caller's pipeline. REQUIRES: not started.
  void Start(std::function<void()> body) {
    WR_CHECK(!thread_.joinable(), "one thread runs");
    thread_ = std::thread(InLogScope(std::move(body)));
  }

  // Requests the end, which also ends Await(); does not wait for it.
  void Stop() { stop_.request_stop(); }

  // Returns what `access(State&)` returns. It must be brief, and must not call this object.
  template <typename Function>
  auto Access(Function access) {
    const std::lock_guard lock(mutex_);
    return access(state_);
  }

  // The owner changes the state by `change(State&)`, and the thread looks at it.
  template <typename Function>
  void Ask(Function change) {
    Access(change);
    changed_.notify_one();
  }

  // Waits until `ready(const State&)` is true, at most `limit`. False: the time has passed, or the
  // thread must end.
  template <typename Predicate>
  bool Await(Predicate ready, std::optional<Micros> limit = std::nullopt) {
    std::unique_lock lock(mutex_);
    const auto holds = [&] { return ready(std::as_const(state_)); };
    const bool held = limit ? changed_.wait_for(lock, stop_.get_token(), *limit, holds)
                            : changed_.wait(lock, stop_.get_token(), holds);
    return held && !stopping();
  }

  // The thread adds a result by `change(State&)`, and wakes the owner.
  template <typename Function>
  void Post(Function change) {
    Access(change);
    Wake();
  }
  void Wake() const { eventfd_write(wakeup_fd_, 1); }

  bool stopping() const { return stop_.stop_requested(); }
  std::stop_token stop_token() const { return stop_.get_token(); }

 private:
  const int wakeup_fd_;
  std::stop_source stop_;
  std::mutex mutex_;
  std::condition_variable_any changed_;
  State state_;  // guarded by mutex_
  std::thread thread_;
};

}  // namespace walrelay
